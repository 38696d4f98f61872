import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{N as t,P as n,_ as r,a as i,g as a,l as o,o as s,s as c}from"./app-Bg9IAqlN.js";import{t as l,u,v as d}from"./Screen-CySPHyEf.js";import{t as f}from"./errors-Bh1mlnZ7.js";import{n as p}from"./clock-2jr6Lkv9.js";import{n as m,r as h,t as g}from"./VoucherHead-D9UEVJ-l.js";import{Lost as _}from"./Lost-CrcNNzX6.js";import{t as v}from"./two-Jux57CeU.js";import{a as y,n as b}from"./preload-helper-Chrg9qMa.js";import{t as x}from"./document-bm9CNBvx.js";var S=e(y(),1),C=u({SOON:`The sale opens in one minute.`,OPEN:`The sale is open now.`,SOLD_OUT:`Sold out.`,ENDED:`The sale is over.`},{SOON:`还有一分钟开抢。`,OPEN:`现在开抢。`,SOLD_OUT:`已抢光。`,ENDED:`秒杀已结束。`});function w(e){let t=C(),n=T(e,p()*1e3),[{seen:r,said:i},a]=(0,S.useState)({seen:[n],said:null});return r.includes(n)||a({seen:[...r,n],said:n}),i===null||i===`UPCOMING`?``:t[i]}function T(e,t){let n=c(e,t),r=new Date(e.beginsAt).getTime()-t;return n===`UPCOMING`&&r<=6e4?`SOON`:n}var E=x(`aa645709535143ffcb34ce76ec3427a12ec2b8ca4a122e88063d4a3200991fa8`,`query Sale($id: ID!) {
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
}`),D={layout:`_layout_5uidb_1`,main:`_main_5uidb_2`,each:`_each_5uidb_9`,countdown:`_countdown_5uidb_16`},O=b(),k=u({title:`Flash sale`,begins:`Opens in`,ends:`Ends in`,opens:e=>`Opens in ${e}`,soldOut:`Sold out`,over:`Sale ended`,off:`Off sale`,each:`One for each person`},{title:`限时秒杀`,begins:`距开抢`,ends:`距结束`,opens:e=>`${e} 后开抢`,soldOut:`已抢光`,over:`秒杀已结束`,off:`已下架`,each:`每人限购一份`});function A({id:e}){let n=k(),[{data:i,error:o},s]=t({query:E,variables:{id:e}}),c=()=>s({requestPolicy:`network-only`}),u=i?.voucher;return u?.kind===`FlashVoucher`?(0,O.jsx)(j,{voucher:u,again:c}):u?(0,O.jsx)(d,{to:`/vouchers/${e}`,replace:!0}):o&&f(o)!==`BAD_USER_INPUT`?(0,O.jsx)(l,{title:n.title,up:`/`,children:(0,O.jsx)(a,{error:o,again:c})}):u===null||o?(0,O.jsx)(_,{}):(0,O.jsx)(l,{title:n.title,up:`/`,children:(0,O.jsx)(r,{shape:`card`})})}function j({voucher:e,again:t}){let r=k(),a=s(e.sale),c=w(e.sale),{phase:u,beginsAt:d,endsAt:f}=a,_=Math.max(0,Math.ceil(new Date(d).getTime()/1e3)-p()),v={UPCOMING:r.opens(M(_)),OPEN:null,SOLD_OUT:r.soldOut,ENDED:r.over}[u],y=e.status===`OFF_SALE`;return(0,O.jsx)(l,{title:e.title,up:`/shops/${e.shop.id}`,children:(0,O.jsxs)(`div`,{className:D.layout,"data-phase":y?`OFF_SALE`:u,children:[(0,O.jsxs)(`div`,{className:D.main,children:[(0,O.jsx)(`p`,{role:`status`,className:`unseen`,children:c}),(0,O.jsxs)(g,{voucher:e,tag:(0,O.jsxs)(O.Fragment,{children:[(0,O.jsx)(n,{"aria-hidden":`true`,size:18,fill:`currentColor`}),r.title,(0,O.jsx)(`span`,{className:D.each,children:r.each})]}),children:[!y&&(0,O.jsx)(i,{sale:e.sale}),y?(0,O.jsx)(`p`,{children:r.off}):u===`ENDED`?(0,O.jsx)(`p`,{children:r.over}):(0,O.jsx)(`div`,{className:D.countdown,children:u===`UPCOMING`?(0,O.jsx)(o,{to:d,label:r.begins}):(0,O.jsx)(o,{to:f,label:r.ends})})]}),(0,O.jsx)(m,{voucher:e})]}),(0,O.jsx)(h,{voucher:e,closed:y?r.off:v,soon:!y&&u===`UPCOMING`,onRefused:t})]})})}function M(e){let[t,n,r]=[Math.floor(e/3600),Math.floor(e/60)%60,e%60];return t>0?`${t}:${v(n)}:${v(r)}`:`${n}:${v(r)}`}export{A as Sale};