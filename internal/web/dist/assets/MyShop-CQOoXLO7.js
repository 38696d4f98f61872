import{g as e,i as t,n,s as r,t as i,u as a}from"./Button-BJNnZ8XN.js";import{t as o}from"./plus-DZnaSyk1.js";import{E as s,I as c,O as l,T as u,V as d,d as f,f as p,v as m,w as h}from"./app-B0ZPWHu3.js";import{t as g}from"./useApiQuery-DhNs3sUT.js";import{t as _}from"./useApiMutation-fQMMxfHh.js";import{i as v,n as y,r as b,t as x}from"./VisitsChart-Cqs7iT_H.js";import{t as S}from"./format-scrNEY_u.js";import{i as C,r as w}from"./preload-helper-DXbBgPnf.js";import{t as T}from"./statusTexts-B1hAzf08.js";import{n as E}from"./toast--XnaLTgW.js";import{i as D,r as O}from"./edit-voucher.gql-izowmaGE.js";import{t as k}from"./RequireRole-6NQrdQ87.js";import{t as A}from"./document-D_a4HVPm.js";var j={name:`external-link`,size:24,node:[[`path`,{d:`M15 3h6v6`,key:`1q9fwt`}],[`path`,{d:`M10 14 21 3`,key:`gplh6r`}],[`path`,{d:`M18 13v6a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2V8a2 2 0 0 1 2-2h6`,key:`a6xqqp`}]]};j.node;var M=r(j),N={name:`pencil`,size:24,node:[[`path`,{d:`M21.174 6.812a1 1 0 0 0-3.986-3.987L3.842 16.174a2 2 0 0 0-.5.83l-1.321 4.352a.5.5 0 0 0 .623.622l4.353-1.32a2 2 0 0 0 .83-.497z`,key:`1a8usu`}],[`path`,{d:`m15 5 4 4`,key:`1mk7zo`}]]};N.node;var P=r(N),F=A(`92bc4d81804c28dd64a059de904586f1d3c43bf9e8901eefd573b639503fb214`,`query MyShop($id: ID!) {
  shop(id: $id) {
    ...MerchantShop
    commentCount
    vouchers {
      ...MerchantVoucher
      __typename
    }
    __typename
  }
}
fragment MerchantShop on Shop {
  id
  name
  area
  address
  ...ShopScore
  sold
  images {
    thumbnailUrl
    width
    height
    __typename
  }
  type {
    id
    name
    __typename
  }
  __typename
}
fragment ShopScore on Shop {
  id
  rating {
    average
    count
    __typename
  }
  __typename
}
fragment MerchantVoucher on Voucher {
  id
  title
  subTitle
  payValue
  faceValue
  status
  ... on FlashVoucher {
    sale {
      ...SaleState
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
}`),I=A(`8c44369f429985838ad7e33893df1a9e94cbf2509a8d0f8a6060385ab46ec917`,`query MyShopOrders($id: ID!, $status: [OrderStatus!], $first: Int! = 20, $after: Cursor) {
  shop(id: $id) {
    id
    orders(status: $status, first: $first, after: $after) {
      edges {
        node {
          ...MerchantOrder
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
fragment MerchantOrder on Order {
  id
  number
  status
  payValue
  createdAt
  paidAt
  usedAt
  redemptionDisputedAt
  terms {
    title
    __typename
  }
  __typename
}
fragment Page on PageInfo {
  hasNextPage
  endCursor
  __typename
}`),L=A(`e95c55dab0070927f1ba3bbb3753f2e736de32a2f4da45f862c6c529f2e4df8f`,`query MyShopFigures($id: ID!, $from: Date!, $to: Date!) {
  shop(id: $id) {
    id
    visits(from: $from, to: $to) {
      uniqueVisitors
      views
      __typename
    }
    visitsByDay(from: $from, to: $to) {
      date
      uniqueVisitors
      views
      __typename
    }
    salesByDay(from: $from, to: $to) {
      date
      orders
      paid
      amount
      __typename
    }
    __typename
  }
}`),R={head:`_head_x266y_1`,picture:`_picture_x266y_12`,about:`_about_x266y_16`,facts:`_facts_x266y_22`,quiet:`_quiet_x266y_29`,actions:`_actions_x266y_34`,tabs:`_tabs_x266y_41`,heading:`_heading_x266y_73`,choice:`_choice_x266y_86`,vouchers:`_vouchers_x266y_90`,orders:`_orders_x266y_91`,voucher:`_voucher_x266y_90`,tags:`_tags_x266y_107`,on:`_on_x266y_112`,off:`_off_x266y_113`,flash:`_flash_x266y_114`,price:`_price_x266y_137`,buttons:`_buttons_x266y_142`,order:`_order_x266y_91`,number:`_number_x266y_158`,sum:`_sum_x266y_162`,figures:`_figures_x266y_170`,charts:`_charts_x266y_171`,totals:`_totals_x266y_176`},z=C(),B=t({title:`My shop`,tabs:`Shop sections`,vouchers:`Vouchers`,orders:`Orders`,figures:`Insights`,edit:`Edit shop`,view:`View shop page`,sold:e=>`${e} sold`,comments:e=>e===`1`?`1 comment`:`${e} comments`,notFound:`This shop doesn’t exist.`,newVoucher:`New voucher`,noVouchers:`No vouchers yet. Create your first one.`,flash:`Flash sale`,value:e=>`${e} value`,left:(e,t)=>`${e} of ${t} left`,ON_SALE:`On sale`,OFF_SALE:`Unavailable`,EXPIRED:`Ended`,stop:`Stop selling`,start:`Start selling`,labelled:(e,t)=>`${e}: ${t}`,change:`Edit`,started:`Now on sale.`,stopped:`No longer on sale.`,status:`Status`,allOrders:`All orders`,noOrders:`No matching orders`,paidAt:e=>`Paid ${e}`,usedAt:e=>`Redeemed ${e}`,orderedAt:e=>`Ordered ${e}`,visits:`Visits, last 30 days`,visitsSummary:(e,t)=>`Visitors: ${e}, views: ${t}`,views:`Views`,paid:`Paid orders`,amount:`Revenue`,people:`Visitors`},{title:`我的店铺`,tabs:`店铺管理`,vouchers:`代金券`,orders:`订单`,figures:`数据`,edit:`编辑店铺`,view:`查看店铺页`,sold:e=>`已售 ${e} 张`,comments:e=>`${e} 条评论`,notFound:`店铺不存在。`,newVoucher:`新建代金券`,noVouchers:`还没有代金券，来创建第一张吧。`,flash:`秒杀`,value:e=>`面值 ${e}`,left:(e,t)=>`剩余 ${e} / ${t} 张`,ON_SALE:`在售`,OFF_SALE:`已下架`,EXPIRED:`已结束`,stop:`下架`,start:`上架`,labelled:(e,t)=>`${e}：${t}`,change:`编辑`,started:`已上架。`,stopped:`已下架。`,status:`状态`,allOrders:`全部订单`,noOrders:`没有符合条件的订单。`,paidAt:e=>`支付于 ${e}`,usedAt:e=>`核销于 ${e}`,orderedAt:e=>`下单于 ${e}`,visits:`近 30 天访问`,visitsSummary:(e,t)=>`共 ${e} 人访问，浏览 ${t} 次`,views:`浏览量`,paid:`已支付订单`,amount:`成交额`,people:`访客`}),V=[`vouchers`,`orders`,`figures`];function H({id:t}){let n=B(),[r]=e(),i=V.find(e=>e===r.get(`part`))??`vouchers`,[{data:o,error:c},l]=g({query:F,variables:{id:t}}),d=o?.shop;return(0,z.jsx)(f,{title:d?.name??n.title,backTo:`/merchant`,children:(0,z.jsx)(k,{role:`MERCHANT`,children:d?(0,z.jsxs)(z.Fragment,{children:[(0,z.jsx)(U,{shop:d}),(0,z.jsx)(`nav`,{className:R.tabs,"aria-label":n.tabs,children:V.map(e=>(0,z.jsx)(a,{href:`/merchant/shops/${t}?part=${e}`,replace:!0,"aria-current":e===i?`page`:void 0,children:n[e]},e))}),i===`vouchers`&&(0,z.jsx)(W,{shop:d}),i===`orders`&&(0,z.jsx)(q,{id:t}),i===`figures`&&(0,z.jsx)(Y,{id:t})]}):c?(0,z.jsx)(u,{error:c,onRetry:()=>l({requestPolicy:`network-only`})}):o?(0,z.jsx)(h,{title:n.notFound}):(0,z.jsx)(s,{shape:`row`,count:3})})})}function U({shop:e}){let t=B(),{number:r}=S();return(0,z.jsxs)(`div`,{className:R.head,children:[(0,z.jsx)(`div`,{className:R.picture,children:(0,z.jsx)(c,{src:e.images[0]?.thumbnailUrl,alt:``,ratio:1,eager:!0})}),(0,z.jsxs)(`div`,{className:R.about,children:[(0,z.jsxs)(`p`,{className:R.facts,children:[(0,z.jsx)(m,{shop:e}),(0,z.jsx)(`span`,{children:t.sold(r(e.sold))}),(0,z.jsx)(`span`,{children:t.comments(r(e.commentCount))})]}),(0,z.jsx)(`p`,{className:R.quiet,children:[e.area??``,e.address].filter(Boolean).map(w).join(` · `)})]}),(0,z.jsxs)(`div`,{className:R.actions,children:[(0,z.jsxs)(n,{small:!0,kind:`quiet`,href:`/merchant/shops/${e.id}/edit`,children:[(0,z.jsx)(P,{"aria-hidden":`true`,size:16}),` `,t.edit]}),(0,z.jsxs)(n,{small:!0,kind:`plain`,href:`/shops/${e.id}`,children:[(0,z.jsx)(M,{"aria-hidden":`true`,size:16}),` `,t.view]})]})]})}function W({shop:e}){let t=B();return(0,z.jsxs)(`section`,{"aria-labelledby":`vouchers`,children:[(0,z.jsxs)(`div`,{className:R.heading,children:[(0,z.jsx)(`h2`,{id:`vouchers`,children:t.vouchers}),(0,z.jsxs)(n,{small:!0,href:`/merchant/shops/${e.id}/vouchers/new`,children:[(0,z.jsx)(o,{"aria-hidden":`true`,size:18}),` `,t.newVoucher]})]}),e.vouchers.length===0?(0,z.jsx)(h,{title:t.noVouchers}):(0,z.jsx)(`ul`,{className:R.vouchers,children:e.vouchers.map(e=>(0,z.jsx)(`li`,{children:(0,z.jsx)(G,{voucher:e})},e.id))})]})}function G({voucher:e}){let t=B(),{money:r,number:a,moment:o}=S(),[s,c]=_(D),[l,u]=_(O),f=`sale`in e?e.sale:null,p=e.status===`ON_SALE`,m=async()=>{let n={id:e.id,status:p?`OFF_SALE`:`ON_SALE`};(await(f?l:s)({input:n})).ok&&E(p?t.stopped:t.started)},h=p?t.stop:t.start;return(0,z.jsxs)(`article`,{className:R.voucher,"data-voucher":e.id,"data-status":e.status,children:[(0,z.jsxs)(`p`,{className:R.tags,children:[(0,z.jsx)(`span`,{className:p?R.on:R.off,children:t[e.status]}),f&&(0,z.jsxs)(`span`,{className:R.flash,children:[(0,z.jsx)(d,{"aria-hidden":`true`,size:14,fill:`currentColor`}),` `,t.flash]})]}),(0,z.jsx)(`h3`,{dir:`auto`,children:e.title}),e.subTitle!==null&&(0,z.jsx)(`p`,{className:R.quiet,dir:`auto`,children:e.subTitle}),(0,z.jsxs)(`p`,{className:R.price,children:[(0,z.jsx)(`strong`,{children:r(e.payValue)}),` `,(0,z.jsx)(`span`,{className:R.quiet,children:t.value(r(e.faceValue))})]}),f&&(0,z.jsxs)(`div`,{className:R.quiet,children:[(0,z.jsx)(`p`,{"data-stock":f.stock,children:t.left(a(f.stock),a(f.initialStock))}),(0,z.jsxs)(`p`,{children:[o(f.beginsAt),` – `,o(f.endsAt)]})]}),(0,z.jsxs)(`div`,{className:R.buttons,children:[(0,z.jsxs)(n,{small:!0,kind:`quiet`,href:`/merchant/vouchers/${e.id}`,children:[t.change,(0,z.jsxs)(`span`,{className:`visually-hidden`,children:[` `,(0,z.jsx)(`bdi`,{children:e.title})]})]}),e.status!==`EXPIRED`&&(0,z.jsx)(i,{small:!0,kind:`plain`,busy:c||u,"aria-label":t.labelled(h,w(e.title)),onClick:()=>void m(),children:h})]})]})}var K=[`PAID`,`USED`,`UNPAID`,`CANCELLED`,`REFUNDING`,`REFUNDED`];function q({id:t}){let n=B(),r=T(),[i,a]=e(),o=K.find(e=>e===i.get(`status`)),c=e=>a(t=>{let n=new URLSearchParams(t);return e===``?n.delete(`status`):n.set(`status`,e),n},{replace:!0}),u=o===void 0?{id:t}:{id:t,status:[o]};return(0,z.jsxs)(`section`,{"aria-labelledby":`orders`,children:[(0,z.jsxs)(`div`,{className:R.heading,children:[(0,z.jsx)(`h2`,{id:`orders`,children:n.orders}),(0,z.jsx)(`div`,{className:R.choice,children:(0,z.jsx)(l,{label:n.status,children:e=>(0,z.jsxs)(`select`,{...e,value:o??``,onChange:e=>c(e.target.value),children:[(0,z.jsx)(`option`,{value:``,children:n.allOrders}),K.map(e=>(0,z.jsx)(`option`,{value:e,children:r[e]},e))]})})})]}),(0,z.jsx)(p,{name:`orders:${o??`all`}`,document:I,variables:u,connection:({shop:e})=>e?.orders,alwaysRefetch:!0,className:R.orders,loading:(0,z.jsx)(s,{shape:`text`,count:4}),empty:(0,z.jsx)(h,{title:n.noOrders}),children:({node:e})=>(0,z.jsx)(J,{order:e})},o??`all`)]})}function J({order:e}){let t=B(),{money:n,moment:r}=S(),i=T(),a=e.usedAt===null?e.paidAt===null?t.orderedAt(r(e.createdAt)):t.paidAt(r(e.paidAt)):t.usedAt(r(e.usedAt));return(0,z.jsxs)(`article`,{className:R.order,"data-order":e.number,"data-status":e.status,children:[(0,z.jsxs)(`div`,{children:[(0,z.jsx)(`h3`,{dir:`auto`,children:e.terms.title}),(0,z.jsx)(`p`,{className:R.number,children:e.number}),(0,z.jsx)(`p`,{className:R.quiet,children:a})]}),(0,z.jsxs)(`p`,{className:R.sum,children:[(0,z.jsx)(`strong`,{children:n(e.payValue)}),(0,z.jsx)(`span`,{className:e.status===`PAID`?R.on:R.off,children:i[e.status]})]})]})}function Y({id:e}){let t=B(),{money:n,number:r}=S(),{range:i,error:a,refetch:o}=y(30),[{data:c,error:l=a},d]=g({query:L,variables:{id:e,from:``,to:``,...i},pause:i===null}),f=c?.shop;if(!f)return l?(0,z.jsx)(u,{error:l,onRetry:()=>i===null?o():d({requestPolicy:`network-only`})}):(0,z.jsx)(s,{shape:`picture`,count:2});let{visits:p,visitsByDay:m,salesByDay:h}=f,{amount:_,paid:C}=v(h);return(0,z.jsxs)(`section`,{className:R.figures,"aria-labelledby":`figures`,children:[(0,z.jsx)(`h2`,{id:`figures`,className:`visually-hidden`,children:t.figures}),(0,z.jsxs)(`dl`,{className:R.totals,children:[(0,z.jsx)(X,{label:t.amount,name:`amount`,value:n(_)}),(0,z.jsx)(X,{label:t.paid,name:`paid`,value:r(C)}),(0,z.jsx)(X,{label:t.people,name:`visitors`,value:r(p.uniqueVisitors)}),(0,z.jsx)(X,{label:t.views,name:`views`,value:r(p.views)})]}),(0,z.jsxs)(`div`,{className:R.charts,children:[(0,z.jsx)(x,{title:t.visits,summary:t.visitsSummary(r(p.uniqueVisitors),r(p.views)),days:m}),(0,z.jsx)(b,{days:h})]})]})}function X({label:e,name:t,value:n}){return(0,z.jsxs)(`div`,{"data-total":t,children:[(0,z.jsx)(`dt`,{children:e}),(0,z.jsx)(`dd`,{children:n})]})}export{H as MyShop};