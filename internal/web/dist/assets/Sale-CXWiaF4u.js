import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{M as t,a as n,c as r,h as i,j as a,m as o,o as s,s as c}from"./app-C_ToAT57.js";import{h as l,l as u,t as d}from"./Screen-DdURs_yY.js";import{t as f}from"./errors-C_u5kzCD.js";import{n as p}from"./clock-CtZaacjU.js";import{n as m,r as h,t as g}from"./VoucherHead-96Lki28Y.js";import{Lost as _}from"./Lost-DM6ZxyMe.js";import{a as v,n as y}from"./preload-helper-Chrg9qMa.js";import{t as b}from"./document-bm9CNBvx.js";var x=e(v(),1),S=u({SOON:`The sale opens in one minute.`,OPEN:`The sale is open now.`,SOLD_OUT:`Sold out.`,ENDED:`The sale is over.`},{SOON:`还有一分钟开抢。`,OPEN:`现在开抢。`,SOLD_OUT:`已抢光。`,ENDED:`秒杀已结束。`});function C(e){let t=S(),n=w(e,p()*1e3),[{seen:r,said:i},a]=(0,x.useState)({seen:[n],said:null});return r.includes(n)||a({seen:[...r,n],said:n}),i===null||i===`UPCOMING`?``:t[i]}function w(e,t){let n=s(e,t),r=new Date(e.beginsAt).getTime()-t;return n===`UPCOMING`&&r<=6e4?`SOON`:n}var T=b(`aa645709535143ffcb34ce76ec3427a12ec2b8ca4a122e88063d4a3200991fa8`,`query Sale($id: ID!) {
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
}`),E={layout:`_layout_5uidb_1`,main:`_main_5uidb_2`,each:`_each_5uidb_9`,countdown:`_countdown_5uidb_16`},D=y(),O=u({title:`Flash sale`,begins:`Opens in`,ends:`Ends in`,opens:e=>`Opens in ${e}`,soldOut:`Sold out`,over:`Sale ended`,off:`Off sale`,each:`One for each person`},{title:`限时秒杀`,begins:`距开抢`,ends:`距结束`,opens:e=>`${e} 后开抢`,soldOut:`已抢光`,over:`秒杀已结束`,off:`已下架`,each:`每人限购一份`});function k({id:e}){let t=O(),[{data:n,error:r},s]=a({query:T,variables:{id:e}}),c=()=>s({requestPolicy:`network-only`}),u=n?.voucher;return u?.kind===`FlashVoucher`?(0,D.jsx)(A,{voucher:u,again:c}):u?(0,D.jsx)(l,{to:`/vouchers/${e}`,replace:!0}):r&&f(r)!==`BAD_USER_INPUT`?(0,D.jsx)(d,{title:t.title,up:`/`,children:(0,D.jsx)(o,{error:r,again:c})}):u===null||r?(0,D.jsx)(_,{}):(0,D.jsx)(d,{title:t.title,up:`/`,children:(0,D.jsx)(i,{shape:`card`})})}function A({voucher:e,again:i}){let a=O(),o=c(e.sale),s=C(e.sale),{phase:l,beginsAt:u,endsAt:f}=o,_=Math.max(0,Math.ceil(new Date(u).getTime()/1e3)-p()),v={UPCOMING:a.opens(j(_)),OPEN:null,SOLD_OUT:a.soldOut,ENDED:a.over}[l],y=e.status===`OFF_SALE`;return(0,D.jsx)(d,{title:e.title,up:`/shops/${e.shop.id}`,children:(0,D.jsxs)(`div`,{className:E.layout,"data-phase":y?`OFF_SALE`:l,children:[(0,D.jsxs)(`div`,{className:E.main,children:[(0,D.jsx)(`p`,{role:`status`,className:`unseen`,children:s}),(0,D.jsxs)(g,{voucher:e,tag:(0,D.jsxs)(D.Fragment,{children:[(0,D.jsx)(t,{"aria-hidden":`true`,size:18,fill:`currentColor`}),a.title,(0,D.jsx)(`span`,{className:E.each,children:a.each})]}),children:[!y&&(0,D.jsx)(n,{sale:e.sale}),y?(0,D.jsx)(`p`,{children:a.off}):l===`ENDED`?(0,D.jsx)(`p`,{children:a.over}):(0,D.jsx)(`div`,{className:E.countdown,children:l===`UPCOMING`?(0,D.jsx)(r,{to:u,label:a.begins}):(0,D.jsx)(r,{to:f,label:a.ends})})]}),(0,D.jsx)(m,{voucher:e})]}),(0,D.jsx)(h,{voucher:e,closed:y?a.off:v,soon:!y&&l===`UPCOMING`,onRefused:i})]})})}function j(e){let[t,n,r]=[Math.floor(e/3600),Math.floor(e/60)%60,e%60];return t>0?`${t}:${M(n)}:${M(r)}`:`${n}:${M(r)}`}function M(e){return String(e).padStart(2,`0`)}export{k as Sale};