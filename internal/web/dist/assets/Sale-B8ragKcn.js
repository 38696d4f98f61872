import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{F as t,_ as n,a as r,g as i,l as a,o,s}from"./app-irk5DRvc.js";import{t as c,u as l,v as u}from"./Screen-Dmve7E8x.js";import{t as d}from"./errors-B4YFam2k.js";import{t as f}from"./useAsk-Bqz0_vO1.js";import{n as p}from"./clock-BsYt33P9.js";import{n as m,r as h,t as g}from"./VoucherHead-BnBA6vL7.js";import{Lost as _}from"./Lost-BJUpqodS.js";import{t as v}from"./two-Jux57CeU.js";import{i as y,l as b}from"./preload-helper-DXbBgPnf.js";import{t as x}from"./document-D_a4HVPm.js";var S=e(b(),1),C=l({SOON:`The sale opens in one minute.`,OPEN:`The sale is open now.`,SOLD_OUT:`Sold out.`,ENDED:`The sale is over.`},{SOON:`还有一分钟开抢。`,OPEN:`现在开抢。`,SOLD_OUT:`已抢光。`,ENDED:`秒杀已结束。`});function w(e){let t=C(),n=T(e,p()*1e3),[{seen:r,said:i},a]=(0,S.useState)({seen:[n],said:null});return r.includes(n)||a({seen:[...r,n],said:n}),i===null||i===`UPCOMING`||i!==n?``:t[i]}function T(e,t){let n=s(e,t),r=new Date(e.beginsAt).getTime()-t;return n===`UPCOMING`&&r<=6e4?`SOON`:n}var E=x(`aa645709535143ffcb34ce76ec3427a12ec2b8ca4a122e88063d4a3200991fa8`,`query Sale($id: ID!) {
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
}`),D={layout:`_layout_2bwxu_1`,main:`_main_2bwxu_2`,each:`_each_2bwxu_9`,countdown:`_countdown_2bwxu_16`},O=y(),k=l({title:`Flash sale`,begins:`Opens in`,ends:`Ends in`,opens:e=>`Opens in ${e}`,soldOut:`Sold out`,over:`Sale ended`,off:`Off sale`,each:`One for each person`},{title:`限时秒杀`,begins:`距开抢`,ends:`距结束`,opens:e=>`${e} 后开抢`,soldOut:`已抢光`,over:`秒杀已结束`,off:`已下架`,each:`每人限购一份`});function A({id:e}){let t=k(),[{data:r,error:a},o]=f({query:E,variables:{id:e}}),s=()=>o({requestPolicy:`network-only`}),l=r?.voucher;return l?.kind===`FlashVoucher`?(0,O.jsx)(j,{voucher:l,again:s}):l?(0,O.jsx)(u,{to:`/vouchers/${e}`,replace:!0}):a&&d(a)!==`BAD_USER_INPUT`?(0,O.jsx)(c,{title:t.title,up:`/`,children:(0,O.jsx)(i,{error:a,again:s})}):l===null||a?(0,O.jsx)(_,{}):(0,O.jsx)(c,{title:t.title,up:`/`,children:(0,O.jsx)(n,{shape:`card`})})}function j({voucher:e,again:n}){let i=k(),s=o(e.sale),l=w(e.sale),{phase:u,beginsAt:d,endsAt:f}=s,_=Math.max(0,Math.ceil(new Date(d).getTime()/1e3)-p()),v={UPCOMING:i.opens(M(_)),OPEN:null,SOLD_OUT:i.soldOut,ENDED:i.over}[u],y=e.status===`OFF_SALE`;return(0,O.jsx)(c,{title:e.title,up:`/shops/${e.shop.id}`,children:(0,O.jsxs)(`div`,{className:D.layout,"data-phase":y?`OFF_SALE`:u,children:[(0,O.jsxs)(`div`,{className:D.main,children:[(0,O.jsx)(`p`,{role:`status`,className:`unseen`,children:l}),(0,O.jsxs)(g,{voucher:e,tag:(0,O.jsxs)(O.Fragment,{children:[(0,O.jsx)(t,{"aria-hidden":`true`,size:18,fill:`currentColor`}),i.title,(0,O.jsx)(`span`,{className:D.each,children:i.each})]}),children:[!y&&(0,O.jsx)(r,{sale:e.sale}),y?(0,O.jsx)(`p`,{children:i.off}):u===`ENDED`?(0,O.jsx)(`p`,{children:i.over}):(0,O.jsx)(`div`,{className:D.countdown,children:u===`UPCOMING`?(0,O.jsx)(a,{to:d,label:i.begins}):(0,O.jsx)(a,{to:f,label:i.ends})})]}),(0,O.jsx)(m,{voucher:e})]}),(0,O.jsx)(h,{voucher:e,closed:y?i.off:v,soon:!y&&u===`UPCOMING`,onRefused:n})]})})}function M(e){let[t,n,r]=[Math.floor(e/3600),Math.floor(e/60)%60,e%60];return t>0?`${t}:${v(n)}:${v(r)}`:`${n}:${v(r)}`}export{A as Sale};