import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{i as t,l as n}from"./preload-helper-DXbBgPnf.js";import{i as r,t as i}from"./document-D_a4HVPm.js";import{g as a,i as o,n as s,u as c}from"./Button-BJNnZ8XN.js";import{E as l,I as u,X as d,d as f,f as p,l as m,u as h,w as g}from"./app-B0ZPWHu3.js";import{i as _,n as v}from"./progress-DliLzEBc.js";import{t as y}from"./format-scrNEY_u.js";import{t as b}from"./statusTexts-B1hAzf08.js";import{t as x}from"./Tabs-CkW6ji4J.js";var S=e(n(),1),C={card:`_card_1pql7_1`,picture:`_picture_1pql7_13`,text:`_text_1pql7_17`,top:`_top_1pql7_23`,foot:`_foot_1pql7_24`,shop:`_shop_1pql7_31`,status:`_status_1pql7_39`,link:`_link_1pql7_65`};function w(e){let[t,n]=(0,S.useState)(e),r=v(t,e)??e;return(r.status!==t.status||r.id!==t.id)&&n(r),r}var T=t(),E=o({payWithin:`Pay within`},{payWithin:`支付剩余时间`});function D({order:e,eager:t}){let n=E(),r=b(),{money:i,moment:a}=y(),o=w(e),{shop:s}=o.voucher;return(0,T.jsxs)(`article`,{className:C.card,"data-order":o.id,"data-status":o.status,children:[(0,T.jsx)(`div`,{className:C.picture,children:(0,T.jsx)(u,{src:s.images[0]?.thumbnailUrl,alt:``,ratio:1,eager:t})}),(0,T.jsxs)(`div`,{className:C.text,children:[(0,T.jsxs)(`p`,{className:C.top,children:[(0,T.jsx)(`span`,{className:C.shop,dir:`auto`,children:s.name}),(0,T.jsx)(`span`,{className:C.status,children:r[o.status]})]}),(0,T.jsx)(`h3`,{dir:`auto`,children:(0,T.jsx)(c,{href:`/orders/${o.id}`,className:C.link,children:o.terms.title})}),(0,T.jsxs)(`p`,{className:C.foot,children:[(0,T.jsx)(`strong`,{children:i(o.payValue)}),(0,T.jsx)(`time`,{dateTime:o.createdAt,children:a(o.createdAt)})]}),o.status===`UNPAID`&&o.payBefore!==null&&(0,T.jsx)(h,{to:o.payBefore,label:n.payWithin})]})]})}var O=i(`8070dc0d1815fdbb204ace0a751c612f6a479e3aab499bfab8cdb6c37bad15a5`,`query Orders($status: [OrderStatus!], $after: Cursor) {
  me {
    id
    orders(status: $status, first: 20, after: $after) {
      edges {
        node {
          ...OrderCard
          __typename
        }
        __typename
      }
      pageInfo {
        ...Page
        __typename
      }
      __typename
    }
    __typename
  }
}
fragment OrderCard on Order {
  ...OrderState
  terms {
    title
    __typename
  }
  voucher {
    kind: __typename
    id
    shop {
      id
      name
      images {
        thumbnailUrl
        __typename
      }
      __typename
    }
    __typename
  }
  __typename
}
fragment OrderState on Order {
  id
  number
  status
  payValue
  payMethod
  failure {
    code
    message
    __typename
  }
  createdAt
  paidAt
  usedAt
  redeemedBy {
    id
    nickname
    __typename
  }
  redemptionDisputedAt
  cancelledAt
  refundedAt
  payBefore
  __typename
}
fragment Page on PageInfo {
  hasNextPage
  endCursor
  __typename
}`),k={tabs:`_tabs_7afl1_1`,list:`_list_7afl1_5`},A=o({title:`Orders`,tabs:`Orders by status`,all:`All`,pay:`Unpaid`,paid:`Ready to use`,used:`Used`,over:`Closed`,none:`No orders yet`,noneHere:`No orders here`,browse:`Browse deals`,seeAll:`See all orders`},{title:`订单`,tabs:`按状态查看订单`,all:`全部`,pay:`待付款`,paid:`待使用`,used:`已使用`,over:`已关闭`,none:`还没有订单。`,noneHere:`这里没有订单。`,browse:`去逛逛`,seeAll:`查看全部订单`}),j=[`all`,`pay`,`paid`,`used`,`over`],M={all:null,pay:[`QUEUED`,`UNPAID`],paid:[`PAID`],used:[`USED`],over:[`CANCELLED`,`REFUNDING`,`REFUNDED`,`FAILED`]},N=e=>e===`all`?`/orders`:`/orders?status=${e}`;function P(){let e=A(),[t]=a(),n=j.find(e=>e===t.get(`status`))??`all`,r={status:M[n]};return F(r),(0,T.jsxs)(f,{title:e.title,children:[(0,T.jsx)(`div`,{className:k.tabs,children:(0,T.jsx)(x,{label:e.tabs,tabs:j.map(t=>({href:N(t),text:e[t]})),current:N(n)})}),(0,T.jsx)(`h2`,{className:`visually-hidden`,children:e[n]}),(0,T.jsx)(p,{name:n,document:O,variables:r,connection:({me:e})=>e?.orders,alwaysRefetch:!0,className:k.list,loading:(0,T.jsx)(l,{shape:`row`,count:4}),empty:(0,T.jsx)(g,{title:n===`all`?e.none:e.noneHere,children:n===`all`?(0,T.jsx)(s,{href:`/`,children:e.browse}):(0,T.jsx)(s,{kind:`quiet`,href:`/orders`,children:e.seeAll})}),children:({node:e},t)=>(0,T.jsx)(D,{order:e,eager:t<6})},n)]})}function F({status:e}){let t=r(),{data:n}=m({query:_,variables:{orderId:null}}),i=(0,S.useEffectEvent)(n=>{t.query(O,{status:e,after:n},{requestPolicy:`network-only`}).toPromise()}),a=n?.orderUpdates,o=(0,S.useEffectEvent)(n=>{let r=e===null||e.includes(n.status),a=I(t,e).find(({ids:e})=>e.includes(n.id));r!==(a!==void 0)&&i(a?.after??null)});(0,S.useEffect)(()=>{a&&o(a)},[a]);let s=(0,S.useEffectEvent)(()=>{for(let{after:n}of I(t,e))i(n)});(0,S.useEffect)(()=>d(()=>s()),[])}function I(e,t){let n=[],r=null;for(;;){let i=e.readQuery(O,{status:t,after:r},{requestPolicy:`cache-only`})?.data?.me?.orders;if(!i||(n.push({after:r,ids:i.edges.map(({node:e})=>e.id)}),!i.pageInfo.hasNextPage||i.pageInfo.endCursor===null))return n;r=i.pageInfo.endCursor}}export{P as Orders};