import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{a as t,n}from"./preload-helper-Chrg9qMa.js";import{i as r,s as i,t as a}from"./document-bm9CNBvx.js";import{C as o,_ as s,c,t as l,u}from"./Screen-CySPHyEf.js";import{i as d,n as f}from"./progress-BNLlWZHt.js";import{A as p,M as m,_ as h,h as g,l as _,u as v}from"./app-Bg9IAqlN.js";var y=e(t(),1),b={card:`_card_1pql7_1`,picture:`_picture_1pql7_13`,text:`_text_1pql7_17`,top:`_top_1pql7_23`,foot:`_foot_1pql7_24`,shop:`_shop_1pql7_31`,status:`_status_1pql7_39`,link:`_link_1pql7_65`},x=u({QUEUED:`Being confirmed`,UNPAID:`To pay`,PAID:`Ready to use`,USED:`Used`,CANCELLED:`Cancelled`,REFUNDING:`Refund on its way`,REFUNDED:`Refunded`,FAILED:`Failed`},{QUEUED:`确认中`,UNPAID:`待付款`,PAID:`待使用`,USED:`已使用`,CANCELLED:`已取消`,REFUNDING:`退款中`,REFUNDED:`已退款`,FAILED:`下单失败`});function S(e){let[t,n]=(0,y.useState)(e),r=f(t,e)??e;return(r.status!==t.status||r.id!==t.id)&&n(r),r}var C=n(),w=u({left:`Pay within`},{left:`支付剩余`});function T({order:e,eager:t}){let n=w(),r=x(),{money:i,moment:a}=m(),o=S(e),{shop:c}=o.voucher;return(0,C.jsxs)(`article`,{className:b.card,"data-order":o.id,"data-status":o.status,children:[(0,C.jsx)(`div`,{className:b.picture,children:(0,C.jsx)(p,{src:c.images[0]?.thumbnailUrl,alt:``,ratio:1,eager:t})}),(0,C.jsxs)(`div`,{className:b.text,children:[(0,C.jsxs)(`p`,{className:b.top,children:[(0,C.jsx)(`span`,{className:b.shop,children:c.name}),(0,C.jsx)(`span`,{className:b.status,children:r[o.status]})]}),(0,C.jsx)(`h3`,{children:(0,C.jsx)(s,{href:`/orders/${o.id}`,className:b.link,children:o.voucher.title})}),(0,C.jsxs)(`p`,{className:b.foot,children:[(0,C.jsx)(`strong`,{children:i(o.payValue)}),(0,C.jsx)(`time`,{dateTime:o.createdAt,children:a(o.createdAt)})]}),o.status===`UNPAID`&&o.payBefore!==null&&(0,C.jsx)(_,{to:o.payBefore,label:n.left})]})]})}var E=a(`309c3a8120b2ff195e1ee1e363d9fd84aed3a2389eb2d492d870045f3b0c3d11`,`query Orders($status: [OrderStatus!], $after: Cursor) {
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
  voucher {
    kind: __typename
    id
    title
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
  cancelledAt
  refundedAt
  payBefore
  __typename
}
fragment Page on PageInfo {
  hasNextPage
  endCursor
  __typename
}`),D={tabs:`_tabs_1ltnj_1`,list:`_list_1ltnj_37`},O=u({title:`Orders`,tabs:`Orders by state`,all:`All`,pay:`To pay`,paid:`Paid`,used:`Used`,over:`Over`,none:`You have not ordered anything yet.`,noneSo:`None of your orders is here.`,look:`Find something`,seeAll:`See all orders`},{title:`订单`,tabs:`按状态查看订单`,all:`全部`,pay:`待付款`,paid:`待使用`,used:`已使用`,over:`已结束`,none:`还没有订单。`,noneSo:`这里没有订单。`,look:`去逛逛`,seeAll:`查看全部订单`}),k=[`all`,`pay`,`paid`,`used`,`over`],A={all:null,pay:[`QUEUED`,`UNPAID`],paid:[`PAID`],used:[`USED`],over:[`CANCELLED`,`REFUNDING`,`REFUNDED`,`FAILED`]};function j(){let e=O(),[t]=o(),n=k.find(e=>e===t.get(`status`))??`all`,r={status:A[n]};return M(r),(0,C.jsxs)(l,{title:e.title,children:[(0,C.jsx)(`nav`,{className:D.tabs,"aria-label":e.tabs,children:(0,C.jsx)(`ul`,{children:k.map(t=>(0,C.jsx)(`li`,{children:(0,C.jsx)(s,{href:t===`all`?`/orders`:`/orders?status=${t}`,replace:!0,"aria-current":t===n?`true`:void 0,children:e[t]})},t))})}),(0,C.jsx)(`h2`,{className:`unseen`,children:e[n]}),(0,C.jsx)(v,{name:n,document:E,variables:r,connection:({me:e})=>e?.orders,className:D.list,loading:(0,C.jsx)(h,{shape:`row`,count:4}),empty:(0,C.jsx)(g,{title:n===`all`?e.none:e.noneSo,children:n===`all`?(0,C.jsx)(c,{href:`/`,children:e.look}):(0,C.jsx)(c,{kind:`quiet`,href:`/orders`,children:e.seeAll})}),children:({node:e},t)=>(0,C.jsx)(T,{order:e,eager:t<6})},n)]})}function M({status:e}){let t=r(),[{data:n}]=i({query:d,variables:{orderId:null}}),a=n?.orderUpdates,o=(0,y.useEffectEvent)(n=>{let r=e===null||e.includes(n.status),i=N(t,e,n.id);r!==(i!==void 0)&&t.query(E,{status:e,after:i??null},{requestPolicy:`network-only`}).toPromise()});(0,y.useEffect)(()=>{a&&o(a)},[a])}function N(e,t,n){let r=null;for(;;){let i=e.readQuery(E,{status:t,after:r},{requestPolicy:`cache-only`})?.data?.me?.orders;if(!i)return;if(i.edges.some(({node:e})=>e.id===n))return r;if(!i.pageInfo.hasNextPage||i.pageInfo.endCursor===null)return;r=i.pageInfo.endCursor}}export{j as Orders};