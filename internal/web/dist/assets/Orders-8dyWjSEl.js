import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{i as t,l as n}from"./preload-helper-DXbBgPnf.js";import{i as r,t as i}from"./document-D_a4HVPm.js";import{C as a,_ as o,c as s,t as c,u as l}from"./Screen-CJ1iDuWr.js";import{A as u,P as d,U as f,_ as p,c as m,h,l as g,u as _}from"./app-VJxpKxNi.js";import{i as v,n as y}from"./progress-DliLzEBc.js";import{t as b}from"./statusTexts-BIfhc9yC.js";var x=e(n(),1),S={card:`_card_1pql7_1`,picture:`_picture_1pql7_13`,text:`_text_1pql7_17`,top:`_top_1pql7_23`,foot:`_foot_1pql7_24`,shop:`_shop_1pql7_31`,status:`_status_1pql7_39`,link:`_link_1pql7_65`};function C(e){let[t,n]=(0,x.useState)(e),r=y(t,e)??e;return(r.status!==t.status||r.id!==t.id)&&n(r),r}var w=t(),T=l({payWithin:`Pay within`},{payWithin:`支付剩余时间`});function E({order:e,eager:t}){let n=T(),r=b(),{money:i,moment:a}=d(),s=C(e),{shop:c}=s.voucher;return(0,w.jsxs)(`article`,{className:S.card,"data-order":s.id,"data-status":s.status,children:[(0,w.jsx)(`div`,{className:S.picture,children:(0,w.jsx)(u,{src:c.images[0]?.thumbnailUrl,alt:``,ratio:1,eager:t})}),(0,w.jsxs)(`div`,{className:S.text,children:[(0,w.jsxs)(`p`,{className:S.top,children:[(0,w.jsx)(`span`,{className:S.shop,dir:`auto`,children:c.name}),(0,w.jsx)(`span`,{className:S.status,children:r[s.status]})]}),(0,w.jsx)(`h3`,{dir:`auto`,children:(0,w.jsx)(o,{href:`/orders/${s.id}`,className:S.link,children:s.terms.title})}),(0,w.jsxs)(`p`,{className:S.foot,children:[(0,w.jsx)(`strong`,{children:i(s.payValue)}),(0,w.jsx)(`time`,{dateTime:s.createdAt,children:a(s.createdAt)})]}),s.status===`UNPAID`&&s.payBefore!==null&&(0,w.jsx)(g,{to:s.payBefore,label:n.payWithin})]})]})}var D=i(`8070dc0d1815fdbb204ace0a751c612f6a479e3aab499bfab8cdb6c37bad15a5`,`query Orders($status: [OrderStatus!], $after: Cursor) {
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
}`),O={tabs:`_tabs_1ltnj_1`,list:`_list_1ltnj_37`},k=l({title:`Orders`,tabs:`Orders by status`,all:`All`,pay:`Unpaid`,paid:`Ready to use`,used:`Used`,over:`Closed`,none:`No orders yet`,noneHere:`No orders here`,browse:`Browse deals`,seeAll:`See all orders`},{title:`订单`,tabs:`按状态查看订单`,all:`全部`,pay:`待付款`,paid:`待使用`,used:`已使用`,over:`已关闭`,none:`还没有订单。`,noneHere:`这里没有订单。`,browse:`去逛逛`,seeAll:`查看全部订单`}),A=[`all`,`pay`,`paid`,`used`,`over`],j={all:null,pay:[`QUEUED`,`UNPAID`],paid:[`PAID`],used:[`USED`],over:[`CANCELLED`,`REFUNDING`,`REFUNDED`,`FAILED`]};function M(){let e=k(),[t]=a(),n=A.find(e=>e===t.get(`status`))??`all`,r={status:j[n]};return N(r),(0,w.jsxs)(c,{title:e.title,children:[(0,w.jsx)(`nav`,{className:O.tabs,"aria-label":e.tabs,children:(0,w.jsx)(`ul`,{children:A.map(t=>(0,w.jsx)(`li`,{children:(0,w.jsx)(o,{href:t===`all`?`/orders`:`/orders?status=${t}`,replace:!0,"aria-current":t===n?`true`:void 0,children:e[t]})},t))})}),(0,w.jsx)(`h2`,{className:`visually-hidden`,children:e[n]}),(0,w.jsx)(_,{name:n,document:D,variables:r,connection:({me:e})=>e?.orders,alwaysRefetch:!0,className:O.list,loading:(0,w.jsx)(p,{shape:`row`,count:4}),empty:(0,w.jsx)(h,{title:n===`all`?e.none:e.noneHere,children:n===`all`?(0,w.jsx)(s,{href:`/`,children:e.browse}):(0,w.jsx)(s,{kind:`quiet`,href:`/orders`,children:e.seeAll})}),children:({node:e},t)=>(0,w.jsx)(E,{order:e,eager:t<6})},n)]})}function N({status:e}){let t=r(),{data:n}=m({query:v,variables:{orderId:null}}),i=(0,x.useEffectEvent)(n=>{t.query(D,{status:e,after:n},{requestPolicy:`network-only`}).toPromise()}),a=n?.orderUpdates,o=(0,x.useEffectEvent)(n=>{let r=e===null||e.includes(n.status),a=P(t,e).find(({ids:e})=>e.includes(n.id));r!==(a!==void 0)&&i(a?.after??null)});(0,x.useEffect)(()=>{a&&o(a)},[a]);let s=(0,x.useEffectEvent)(()=>{for(let{after:n}of P(t,e))i(n)});(0,x.useEffect)(()=>f(()=>s()),[])}function P(e,t){let n=[],r=null;for(;;){let i=e.readQuery(D,{status:t,after:r},{requestPolicy:`cache-only`})?.data?.me?.orders;if(!i||(n.push({after:r,ids:i.edges.map(({node:e})=>e.id)}),!i.pageInfo.hasNextPage||i.pageInfo.endCursor===null))return n;r=i.pageInfo.endCursor}}export{M as Orders};