import{t as e}from"./ticket-CbmoAK-4.js";import{d as t,i as n}from"./Button-BJNnZ8XN.js";import{t as r}from"./errors-CWz5aWUu.js";import{t as i}from"./useApiQuery-DhNs3sUT.js";import{n as a,r as o,t as s}from"./VoucherHead-D9SdbrwJ.js";import{NotFound as c}from"./NotFound-D72cODaU.js";import{E as l,T as u,d}from"./app-B0ZPWHu3.js";import{t as f}from"./document-D_a4HVPm.js";import{i as p}from"./preload-helper-DXbBgPnf.js";var m=f(`a1f0a453ada82101502e0cb0d282c9b333f52176c5e32ba621e43b27e3255a60`,`query Voucher($id: ID!) {
  voucher(id: $id) {
    ...VoucherFacts
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
}`),h={layout:`_layout_gilfu_1`,main:`_main_gilfu_2`,limit:`_limit_gilfu_9`},g=p(),_=n({title:`Voucher`,limit:`Limit 1 per customer`,noLimit:`No purchase limit`,unavailable:`Unavailable`},{title:`代金券`,limit:`每人限购 1 张`,noLimit:`不限购`,unavailable:`已下架`});function v({id:n}){let f=_(),[{data:p,error:v},y]=i({query:m,variables:{id:n}}),b=()=>y({requestPolicy:`network-only`}),x=p?.voucher;if(!x)return x===null||v&&r(v)===`BAD_USER_INPUT`?(0,g.jsx)(c,{}):(0,g.jsx)(d,{title:f.title,backTo:`/`,children:v?(0,g.jsx)(u,{error:v,onRetry:b}):(0,g.jsx)(l,{shape:`card`})});if(x.kind===`FlashVoucher`)return(0,g.jsx)(t,{to:`/sales/${n}`,replace:!0});let S=x.status!==`ON_SALE`;return(0,g.jsx)(d,{title:x.title,backTo:`/shops/${x.shop.id}`,children:(0,g.jsxs)(`div`,{className:h.layout,"data-voucher":n,children:[(0,g.jsxs)(`div`,{className:h.main,children:[(0,g.jsx)(s,{voucher:x,tag:(0,g.jsxs)(g.Fragment,{children:[(0,g.jsx)(e,{"aria-hidden":`true`,size:18}),f.title]}),children:(0,g.jsx)(`p`,{className:h.limit,children:x.onePerUser?f.limit:f.noLimit})}),(0,g.jsx)(a,{voucher:x})]}),(0,g.jsx)(o,{voucher:x,closed:S?f.unavailable:null,onRefused:b})]})})}export{v as Voucher};