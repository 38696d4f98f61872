import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{E as t,T as n,V as r,c as i,d as a,o,s,u as c}from"./app-B0ZPWHu3.js";import{d as l,i as u}from"./Button-BJNnZ8XN.js";import{t as d}from"./errors-CWz5aWUu.js";import{t as f}from"./useApiQuery-DhNs3sUT.js";import{n as p}from"./clock-BsYt33P9.js";import{n as m,r as h,t as g}from"./VoucherHead-D9SdbrwJ.js";import{NotFound as _}from"./NotFound-D72cODaU.js";import{t as v}from"./padTwo-Jux57CeU.js";import{i as y,l as b}from"./preload-helper-DXbBgPnf.js";import{t as x}from"./document-D_a4HVPm.js";var S=e(b(),1),C=u({SOON:`The sale starts in one minute.`,OPEN:`The sale has started.`,SOLD_OUT:`Sold out.`,ENDED:`The sale has ended.`},{SOON:`还有 1 分钟开抢。`,OPEN:`秒杀已开始。`,SOLD_OUT:`已抢光。`,ENDED:`秒杀已结束。`});function w(e){let t=C(),n=T(e,p()*1e3),[{seen:r,announced:i},a]=(0,S.useState)({seen:[n],announced:null});return r.includes(n)||a({seen:[...r,n],announced:n}),i===null||i===`UPCOMING`||i!==n?``:t[i]}function T(e,t){let n=i(e,t),r=new Date(e.beginsAt).getTime()-t;return n===`UPCOMING`&&r<=6e4?`SOON`:n}var E=x(`aa645709535143ffcb34ce76ec3427a12ec2b8ca4a122e88063d4a3200991fa8`,`query Sale($id: ID!) {
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
}`),D={layout:`_layout_rjr23_1`,main:`_main_rjr23_2`,limit:`_limit_rjr23_9`,countdown:`_countdown_rjr23_16`},O=y(),k=u({title:`Flash sale`,begins:`Starts in`,ends:`Ends in`,startsIn:e=>`Starts in ${e}`,soldOut:`Sold out`,ended:`Sale ended`,unavailable:`Unavailable`,limit:`Limit 1 per customer`},{title:`秒杀`,begins:`距开抢`,ends:`距结束`,startsIn:e=>`${e} 后开抢`,soldOut:`已抢光`,ended:`秒杀已结束`,unavailable:`已下架`,limit:`每人限购 1 张`});function A({id:e}){let r=k(),[{data:i,error:o},s]=f({query:E,variables:{id:e}}),c=()=>s({requestPolicy:`network-only`}),u=i?.voucher;return u?.kind===`FlashVoucher`?(0,O.jsx)(j,{voucher:u,reload:c}):u?(0,O.jsx)(l,{to:`/vouchers/${e}`,replace:!0}):o&&d(o)!==`BAD_USER_INPUT`?(0,O.jsx)(a,{title:r.title,backTo:`/`,children:(0,O.jsx)(n,{error:o,onRetry:c})}):u===null||o?(0,O.jsx)(_,{}):(0,O.jsx)(a,{title:r.title,backTo:`/`,children:(0,O.jsx)(t,{shape:`card`})})}function j({voucher:e,reload:t}){let n=k(),i=s(e.sale),l=w(e.sale),{phase:u,beginsAt:d,endsAt:f}=i,_=Math.max(0,Math.ceil(new Date(d).getTime()/1e3)-p()),v={UPCOMING:n.startsIn(M(_)),OPEN:null,SOLD_OUT:n.soldOut,ENDED:n.ended}[u],y=e.status===`OFF_SALE`;return(0,O.jsx)(a,{title:e.title,backTo:`/shops/${e.shop.id}`,children:(0,O.jsxs)(`div`,{className:D.layout,"data-phase":y?`OFF_SALE`:u,children:[(0,O.jsxs)(`div`,{className:D.main,children:[(0,O.jsx)(`p`,{role:`status`,className:`visually-hidden`,children:l}),(0,O.jsxs)(g,{voucher:e,tag:(0,O.jsxs)(O.Fragment,{children:[(0,O.jsx)(r,{"aria-hidden":`true`,size:18,fill:`currentColor`}),n.title,(0,O.jsx)(`span`,{className:D.limit,children:n.limit})]}),children:[!y&&(0,O.jsx)(o,{sale:e.sale}),y?(0,O.jsx)(`p`,{children:n.unavailable}):u===`ENDED`?(0,O.jsx)(`p`,{children:n.ended}):(0,O.jsx)(`div`,{className:D.countdown,children:u===`UPCOMING`?(0,O.jsx)(c,{to:d,label:n.begins}):(0,O.jsx)(c,{to:f,label:n.ends})})]}),(0,O.jsx)(m,{voucher:e})]}),(0,O.jsx)(h,{voucher:e,closed:y?n.unavailable:v,soon:!y&&u===`UPCOMING`,onRefused:t})]})})}function M(e){let[t,n,r]=[Math.floor(e/3600),Math.floor(e/60)%60,e%60];return t>0?`${t}:${v(n)}:${v(r)}`:`${n}:${v(r)}`}export{A as Sale};