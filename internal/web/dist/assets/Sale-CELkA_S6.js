import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{M as t,N as n,a as r,g as i,h as a,l as o,o as s,s as c}from"./app-DtL_Xucx.js";import{t as l,u,v as d}from"./Screen-CySPHyEf.js";import{t as f}from"./errors-Bh1mlnZ7.js";import{n as p}from"./clock-DS_zQhXJ.js";import{n as m,r as h,t as g}from"./VoucherHead-DrKMrHpE.js";import{Lost as _}from"./Lost-DcSZlVhj.js";import{a as v,n as y}from"./preload-helper-Chrg9qMa.js";import{t as b}from"./document-bm9CNBvx.js";var x=e(v(),1),S=u({SOON:`The sale opens in one minute.`,OPEN:`The sale is open now.`,SOLD_OUT:`Sold out.`,ENDED:`The sale is over.`},{SOON:`还有一分钟开抢。`,OPEN:`现在开抢。`,SOLD_OUT:`已抢光。`,ENDED:`秒杀已结束。`});function C(e){let t=S(),n=w(e,p()*1e3),[{seen:r,said:i},a]=(0,x.useState)({seen:[n],said:null});return r.includes(n)||a({seen:[...r,n],said:n}),i===null||i===`UPCOMING`?``:t[i]}function w(e,t){let n=s(e,t),r=new Date(e.beginsAt).getTime()-t;return n===`UPCOMING`&&r<=6e4?`SOON`:n}var T=b(`aa645709535143ffcb34ce76ec3427a12ec2b8ca4a122e88063d4a3200991fa8`,`query Sale($id: ID!) {
  voucher(id: $id) {
    ...VoucherFacts
    ... on FlashVoucher {
      sale {
        ...SaleState
        __typename
      }
      __typename
    }
    __typename
  }
}
fragment VoucherFacts on Voucher {
  kind: __typename
  id
  title
  subTitle
  rules
  payValue
  faceValue
  status
  onePerUser
  shop {
    id
    name
    address
    images {
      thumbnailUrl
      __typename
    }
    __typename
  }
  __typename
}
fragment SaleState on FlashSale {
  voucherId
  stock
  initialStock
  beginsAt
  endsAt
  phase
  __typename
}`),E={layout:`_layout_5uidb_1`,main:`_main_5uidb_2`,each:`_each_5uidb_9`,countdown:`_countdown_5uidb_16`},D=y(),O=u({title:`Flash sale`,begins:`Opens in`,ends:`Ends in`,opens:e=>`Opens in ${e}`,soldOut:`Sold out`,over:`Sale ended`,off:`Off sale`,each:`One for each person`},{title:`限时秒杀`,begins:`距开抢`,ends:`距结束`,opens:e=>`${e} 后开抢`,soldOut:`已抢光`,over:`秒杀已结束`,off:`已下架`,each:`每人限购一份`});function k({id:e}){let n=O(),[{data:r,error:o},s]=t({query:T,variables:{id:e}}),c=()=>s({requestPolicy:`network-only`}),u=r?.voucher;return u?.kind===`FlashVoucher`?(0,D.jsx)(A,{voucher:u,again:c}):u?(0,D.jsx)(d,{to:`/vouchers/${e}`,replace:!0}):o&&f(o)!==`BAD_USER_INPUT`?(0,D.jsx)(l,{title:n.title,up:`/`,children:(0,D.jsx)(a,{error:o,again:c})}):u===null||o?(0,D.jsx)(_,{}):(0,D.jsx)(l,{title:n.title,up:`/`,children:(0,D.jsx)(i,{shape:`card`})})}function A({voucher:e,again:t}){let i=O(),a=c(e.sale),s=C(e.sale),{phase:u,beginsAt:d,endsAt:f}=a,_=Math.max(0,Math.ceil(new Date(d).getTime()/1e3)-p()),v={UPCOMING:i.opens(j(_)),OPEN:null,SOLD_OUT:i.soldOut,ENDED:i.over}[u],y=e.status===`OFF_SALE`;return(0,D.jsx)(l,{title:e.title,up:`/shops/${e.shop.id}`,children:(0,D.jsxs)(`div`,{className:E.layout,"data-phase":y?`OFF_SALE`:u,children:[(0,D.jsxs)(`div`,{className:E.main,children:[(0,D.jsx)(`p`,{role:`status`,className:`unseen`,children:s}),(0,D.jsxs)(g,{voucher:e,tag:(0,D.jsxs)(D.Fragment,{children:[(0,D.jsx)(n,{"aria-hidden":`true`,size:18,fill:`currentColor`}),i.title,(0,D.jsx)(`span`,{className:E.each,children:i.each})]}),children:[!y&&(0,D.jsx)(r,{sale:e.sale}),y?(0,D.jsx)(`p`,{children:i.off}):u===`ENDED`?(0,D.jsx)(`p`,{children:i.over}):(0,D.jsx)(`div`,{className:E.countdown,children:u===`UPCOMING`?(0,D.jsx)(o,{to:d,label:i.begins}):(0,D.jsx)(o,{to:f,label:i.ends})})]}),(0,D.jsx)(m,{voucher:e})]}),(0,D.jsx)(h,{voucher:e,closed:y?i.off:v,soon:!y&&u===`UPCOMING`,onRefused:t})]})})}function j(e){let[t,n,r]=[Math.floor(e/3600),Math.floor(e/60)%60,e%60];return t>0?`${t}:${M(n)}:${M(r)}`:`${n}:${M(r)}`}function M(e){return String(e).padStart(2,`0`)}export{k as Sale};