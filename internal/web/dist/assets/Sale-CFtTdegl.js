import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{F as t,_ as n,a as r,g as i,l as a,o,s}from"./app-VJxpKxNi.js";import{t as c,u as l,v as u}from"./Screen-CJ1iDuWr.js";import{t as d}from"./errors-DTJNFjfx.js";import{t as f}from"./useApiQuery-DhNs3sUT.js";import{n as p}from"./clock-BsYt33P9.js";import{n as m,r as h,t as g}from"./VoucherHead-Dq9qs1K-.js";import{NotFound as _}from"./NotFound-B13sP8Kt.js";import{t as v}from"./padTwo-Jux57CeU.js";import{i as y,l as b}from"./preload-helper-DXbBgPnf.js";import{t as x}from"./document-D_a4HVPm.js";var S=e(b(),1),C=l({SOON:`The sale starts in one minute.`,OPEN:`The sale has started.`,SOLD_OUT:`Sold out.`,ENDED:`The sale has ended.`},{SOON:`还有 1 分钟开抢。`,OPEN:`秒杀已开始。`,SOLD_OUT:`已抢光。`,ENDED:`秒杀已结束。`});function w(e){let t=C(),n=T(e,p()*1e3),[{seen:r,announced:i},a]=(0,S.useState)({seen:[n],announced:null});return r.includes(n)||a({seen:[...r,n],announced:n}),i===null||i===`UPCOMING`||i!==n?``:t[i]}function T(e,t){let n=s(e,t),r=new Date(e.beginsAt).getTime()-t;return n===`UPCOMING`&&r<=6e4?`SOON`:n}var E=x(`aa645709535143ffcb34ce76ec3427a12ec2b8ca4a122e88063d4a3200991fa8`,`query Sale($id: ID!) {
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
}`),D={layout:`_layout_rjr23_1`,main:`_main_rjr23_2`,limit:`_limit_rjr23_9`,countdown:`_countdown_rjr23_16`},O=y(),k=l({title:`Flash sale`,begins:`Starts in`,ends:`Ends in`,startsIn:e=>`Starts in ${e}`,soldOut:`Sold out`,ended:`Sale ended`,unavailable:`Unavailable`,limit:`Limit 1 per customer`},{title:`秒杀`,begins:`距开抢`,ends:`距结束`,startsIn:e=>`${e} 后开抢`,soldOut:`已抢光`,ended:`秒杀已结束`,unavailable:`已下架`,limit:`每人限购 1 张`});function A({id:e}){let t=k(),[{data:r,error:a},o]=f({query:E,variables:{id:e}}),s=()=>o({requestPolicy:`network-only`}),l=r?.voucher;return l?.kind===`FlashVoucher`?(0,O.jsx)(j,{voucher:l,reload:s}):l?(0,O.jsx)(u,{to:`/vouchers/${e}`,replace:!0}):a&&d(a)!==`BAD_USER_INPUT`?(0,O.jsx)(c,{title:t.title,backTo:`/`,children:(0,O.jsx)(i,{error:a,onRetry:s})}):l===null||a?(0,O.jsx)(_,{}):(0,O.jsx)(c,{title:t.title,backTo:`/`,children:(0,O.jsx)(n,{shape:`card`})})}function j({voucher:e,reload:n}){let i=k(),s=o(e.sale),l=w(e.sale),{phase:u,beginsAt:d,endsAt:f}=s,_=Math.max(0,Math.ceil(new Date(d).getTime()/1e3)-p()),v={UPCOMING:i.startsIn(M(_)),OPEN:null,SOLD_OUT:i.soldOut,ENDED:i.ended}[u],y=e.status===`OFF_SALE`;return(0,O.jsx)(c,{title:e.title,backTo:`/shops/${e.shop.id}`,children:(0,O.jsxs)(`div`,{className:D.layout,"data-phase":y?`OFF_SALE`:u,children:[(0,O.jsxs)(`div`,{className:D.main,children:[(0,O.jsx)(`p`,{role:`status`,className:`visually-hidden`,children:l}),(0,O.jsxs)(g,{voucher:e,tag:(0,O.jsxs)(O.Fragment,{children:[(0,O.jsx)(t,{"aria-hidden":`true`,size:18,fill:`currentColor`}),i.title,(0,O.jsx)(`span`,{className:D.limit,children:i.limit})]}),children:[!y&&(0,O.jsx)(r,{sale:e.sale}),y?(0,O.jsx)(`p`,{children:i.unavailable}):u===`ENDED`?(0,O.jsx)(`p`,{children:i.ended}):(0,O.jsx)(`div`,{className:D.countdown,children:u===`UPCOMING`?(0,O.jsx)(a,{to:d,label:i.begins}):(0,O.jsx)(a,{to:f,label:i.ends})})]}),(0,O.jsx)(m,{voucher:e})]}),(0,O.jsx)(h,{voucher:e,closed:y?i.unavailable:v,soon:!y&&u===`UPCOMING`,onRefused:n})]})})}function M(e){let[t,n,r]=[Math.floor(e/3600),Math.floor(e/60)%60,e%60];return t>0?`${t}:${v(n)}:${v(r)}`:`${n}:${v(r)}`}export{A as Sale};