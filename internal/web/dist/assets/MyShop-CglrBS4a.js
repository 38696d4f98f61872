import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{C as t,_ as n,c as r,m as i,s as a,t as o,u as s}from"./Screen-DN1Y-HZ_.js";import{t as c}from"./plus-B7ibvuwC.js";import{A as l,M as u,N as d,_ as f,b as p,g as m,h,k as g,p as _,u as v}from"./app-4QarhtSs.js";import{a as y,n as b}from"./preload-helper-Chrg9qMa.js";import{t as x}from"./useAsk-ChgyYjXc.js";import{n as S,t as C}from"./days-Bv26hWKn.js";import{n as w}from"./toast-DI_pCogT.js";import{i as T,r as E}from"./edit-voucher.gql-BGJe5kZL.js";import{t as D}from"./ForRole-CRpOg_Ik.js";import{t as O}from"./document-bm9CNBvx.js";import{n as k,t as A}from"./statusNames-BUBOzoKx.js";var j={name:`external-link`,size:24,node:[[`path`,{d:`M15 3h6v6`,key:`1q9fwt`}],[`path`,{d:`M10 14 21 3`,key:`gplh6r`}],[`path`,{d:`M18 13v6a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2V8a2 2 0 0 1 2-2h6`,key:`a6xqqp`}]]};j.node;var M=i(j),N={name:`pencil`,size:24,node:[[`path`,{d:`M21.174 6.812a1 1 0 0 0-3.986-3.987L3.842 16.174a2 2 0 0 0-.5.83l-1.321 4.352a.5.5 0 0 0 .623.622l4.353-1.32a2 2 0 0 0 .83-.497z`,key:`1a8usu`}],[`path`,{d:`m15 5 4 4`,key:`1mk7zo`}]]};N.node;var P=i(N),F=e(y(),1),I=O(`6d863e10f59b253f0169c2af9034d47146ada9793446ac816e33147698e9cbc2`,`query MyShop($id: ID!) {
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
  score
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
}`),L=O(`bfc7ad326a6c575c3a073364f05f6d237beb2ec122a38ae5fb50fa6ac835ce3e`,`query MyShopOrders($id: ID!, $status: [OrderStatus!], $first: Int! = 20, $after: Cursor) {
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
  voucher {
    id
    title
    __typename
  }
  __typename
}
fragment Page on PageInfo {
  hasNextPage
  endCursor
  __typename
}`),R=O(`e95c55dab0070927f1ba3bbb3753f2e736de32a2f4da45f862c6c529f2e4df8f`,`query MyShopFigures($id: ID!, $from: Date!, $to: Date!) {
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
}`),z={head:`_head_15r25_1`,picture:`_picture_15r25_12`,about:`_about_15r25_16`,facts:`_facts_15r25_22`,quiet:`_quiet_15r25_29`,ways:`_ways_15r25_34`,parts:`_parts_15r25_41`,heading:`_heading_15r25_73`,choice:`_choice_15r25_86`,vouchers:`_vouchers_15r25_90`,orders:`_orders_15r25_91`,voucher:`_voucher_15r25_90`,tags:`_tags_15r25_107`,on:`_on_15r25_112`,off:`_off_15r25_113`,flash:`_flash_15r25_114`,price:`_price_15r25_137`,buttons:`_buttons_15r25_142`,order:`_order_15r25_91`,number:`_number_15r25_158`,sum:`_sum_15r25_162`,figures:`_figures_15r25_170`,charts:`_charts_15r25_171`,totals:`_totals_15r25_176`},B=b(),V=s({title:`My shop`,parts:`Parts of the shop`,vouchers:`Vouchers`,orders:`Orders`,figures:`Figures`,edit:`Edit shop`,look:`View shop page`,sold:e=>`${e} sold`,comments:e=>e===`1`?`1 comment`:`${e} comments`,gone:`There is no such shop.`,newVoucher:`New voucher`,noVouchers:`No vouchers yet. The first one can be on sale in a minute.`,flash:`Flash sale`,worth:e=>`worth ${e}`,left:(e,t)=>`${e} of ${t} left`,ON_SALE:`On sale`,OFF_SALE:`Off sale`,EXPIRED:`Over`,take:`Take off sale`,put:`Put on sale`,of:(e,t)=>`${e}: ${t}`,change:`Edit`,isOn:`It is on sale.`,isOff:`It is off sale.`,status:`Show`,allOrders:`All orders`,noOrders:`No orders like that.`,paidAt:e=>`paid ${e}`,usedAt:e=>`used ${e}`,orderedAt:e=>`ordered ${e}`,visits:`Visits, last 30 days`,visitsSummary:(e,t)=>`Visitors: ${e}, views: ${t}`,visitors:`Visitors`,views:`Views`,sales:`Sales, last 30 days`,salesSummary:(e,t,n)=>`Turnover: ${e}, orders: ${n}, paid: ${t}`,ordered:`Orders`,paid:`Paid`,amount:`Turnover`,people:`Visitors`},{title:`我的店铺`,parts:`店铺管理`,vouchers:`优惠券`,orders:`订单`,figures:`数据`,edit:`编辑店铺`,look:`查看店铺页`,sold:e=>`已售 ${e}`,comments:e=>`${e} 条评论`,gone:`店铺不存在。`,newVoucher:`新建优惠券`,noVouchers:`还没有优惠券，一分钟即可上架第一张。`,flash:`限时秒杀`,worth:e=>`面值 ${e}`,left:(e,t)=>`剩余 ${e} / ${t}`,ON_SALE:`在售`,OFF_SALE:`已下架`,EXPIRED:`已结束`,take:`下架`,put:`上架`,of:(e,t)=>`${e}：${t}`,change:`编辑`,isOn:`已上架。`,isOff:`已下架。`,status:`筛选`,allOrders:`全部订单`,noOrders:`没有符合条件的订单。`,paidAt:e=>`支付于 ${e}`,usedAt:e=>`使用于 ${e}`,orderedAt:e=>`下单于 ${e}`,visits:`近 30 天访问`,visitsSummary:(e,t)=>`共 ${e} 人访问，浏览 ${t} 次`,visitors:`访客`,views:`浏览`,sales:`近 30 天销售`,salesSummary:(e,t,n)=>`成交额 ${e}，下单 ${n} 笔，支付 ${t} 笔`,ordered:`下单`,paid:`支付`,amount:`成交额`,people:`访客人数`}),H=[`vouchers`,`orders`,`figures`];function U({id:e}){let r=V(),[i]=t(),a=H.find(e=>e===i.get(`part`))??`vouchers`,[{data:s,error:c},l]=x({query:I,variables:{id:e}}),u=s?.shop;return(0,B.jsx)(o,{title:u?.name??r.title,up:`/merchant`,children:(0,B.jsx)(D,{role:`MERCHANT`,children:u?(0,B.jsxs)(B.Fragment,{children:[(0,B.jsx)(W,{shop:u}),(0,B.jsx)(`nav`,{className:z.parts,"aria-label":r.parts,children:H.map(t=>(0,B.jsx)(n,{href:`/merchant/shops/${e}?part=${t}`,replace:!0,"aria-current":t===a?`page`:void 0,children:r[t]},t))}),a===`vouchers`&&(0,B.jsx)(G,{shop:u}),a===`orders`&&(0,B.jsx)(q,{id:e}),a===`figures`&&(0,B.jsx)(Y,{id:e})]}):c?(0,B.jsx)(m,{error:c,again:()=>l({requestPolicy:`network-only`})}):s?(0,B.jsx)(h,{title:r.gone}):(0,B.jsx)(f,{shape:`row`,count:3})})})}function W({shop:e}){let t=V(),{number:n}=u();return(0,B.jsxs)(`div`,{className:z.head,children:[(0,B.jsx)(`div`,{className:z.picture,children:(0,B.jsx)(l,{src:e.images[0]?.thumbnailUrl,alt:``,ratio:1,eager:!0})}),(0,B.jsxs)(`div`,{className:z.about,children:[(0,B.jsxs)(`p`,{className:z.facts,children:[(0,B.jsx)(_,{value:e.score}),(0,B.jsx)(`span`,{children:t.sold(n(e.sold))}),(0,B.jsx)(`span`,{children:t.comments(n(e.commentCount))})]}),(0,B.jsx)(`p`,{className:z.quiet,children:[e.area,e.address].filter(Boolean).join(` · `)})]}),(0,B.jsxs)(`div`,{className:z.ways,children:[(0,B.jsxs)(r,{small:!0,kind:`quiet`,href:`/merchant/shops/${e.id}/edit`,children:[(0,B.jsx)(P,{"aria-hidden":`true`,size:16}),` `,t.edit]}),(0,B.jsxs)(r,{small:!0,kind:`plain`,href:`/shops/${e.id}`,children:[(0,B.jsx)(M,{"aria-hidden":`true`,size:16}),` `,t.look]})]})]})}function G({shop:e}){let t=V();return(0,B.jsxs)(`section`,{"aria-labelledby":`vouchers`,children:[(0,B.jsxs)(`div`,{className:z.heading,children:[(0,B.jsx)(`h2`,{id:`vouchers`,children:t.vouchers}),(0,B.jsxs)(r,{small:!0,href:`/merchant/shops/${e.id}/vouchers/new`,children:[(0,B.jsx)(c,{"aria-hidden":`true`,size:18}),` `,t.newVoucher]})]}),e.vouchers.length===0?(0,B.jsx)(h,{title:t.noVouchers}):(0,B.jsx)(`ul`,{className:z.vouchers,children:e.vouchers.map(e=>(0,B.jsx)(`li`,{children:(0,B.jsx)(K,{voucher:e})},e.id))})]})}function K({voucher:e}){let t=V(),{money:n,number:i,moment:o}=u(),[s,c]=g(T),[l,f]=g(E),p=`sale`in e?e.sale:null,m=e.status===`ON_SALE`,h=async()=>{let n={id:e.id,status:m?`OFF_SALE`:`ON_SALE`};(await(p?l:s)({input:n})).ok&&w(m?t.isOff:t.isOn)},_=m?t.take:t.put;return(0,B.jsxs)(`article`,{className:z.voucher,"data-voucher":e.id,"data-status":e.status,children:[(0,B.jsxs)(`p`,{className:z.tags,children:[(0,B.jsx)(`span`,{className:m?z.on:z.off,children:t[e.status]}),p&&(0,B.jsxs)(`span`,{className:z.flash,children:[(0,B.jsx)(d,{"aria-hidden":`true`,size:14,fill:`currentColor`}),` `,t.flash]})]}),(0,B.jsx)(`h3`,{children:e.title}),e.subTitle!==null&&(0,B.jsx)(`p`,{className:z.quiet,children:e.subTitle}),(0,B.jsxs)(`p`,{className:z.price,children:[(0,B.jsx)(`strong`,{children:n(e.payValue)}),` `,(0,B.jsx)(`span`,{className:z.quiet,children:t.worth(n(e.faceValue))})]}),p&&(0,B.jsxs)(`div`,{className:z.quiet,children:[(0,B.jsx)(`p`,{"data-stock":p.stock,children:t.left(i(p.stock),i(p.initialStock))}),(0,B.jsxs)(`p`,{children:[o(p.beginsAt),` – `,o(p.endsAt)]})]}),(0,B.jsxs)(`div`,{className:z.buttons,children:[(0,B.jsxs)(r,{small:!0,kind:`quiet`,href:`/merchant/vouchers/${e.id}`,children:[t.change,(0,B.jsxs)(`span`,{className:`unseen`,children:[` `,e.title]})]}),e.status!==`EXPIRED`&&(0,B.jsx)(a,{small:!0,kind:`plain`,busy:c||f,"aria-label":t.of(_,e.title),onClick:()=>void h(),children:_})]})]})}function q({id:e}){let n=V(),r=k(),[i,a]=t(),o=A.find(e=>e===i.get(`status`)),s=e=>a(t=>{let n=new URLSearchParams(t);return e===``?n.delete(`status`):n.set(`status`,e),n},{replace:!0}),c=o===void 0?{id:e}:{id:e,status:[o]};return(0,B.jsxs)(`section`,{"aria-labelledby":`orders`,children:[(0,B.jsxs)(`div`,{className:z.heading,children:[(0,B.jsx)(`h2`,{id:`orders`,children:n.orders}),(0,B.jsx)(`div`,{className:z.choice,children:(0,B.jsx)(p,{label:n.status,children:e=>(0,B.jsxs)(`select`,{...e,value:o??``,onChange:e=>s(e.target.value),children:[(0,B.jsx)(`option`,{value:``,children:n.allOrders}),A.map(e=>(0,B.jsx)(`option`,{value:e,children:r(e)},e))]})})})]}),(0,B.jsx)(v,{name:`orders:${o??`all`}`,document:L,variables:c,connection:({shop:e})=>e?.orders,fresh:!0,className:z.orders,loading:(0,B.jsx)(f,{shape:`text`,count:4}),empty:(0,B.jsx)(h,{title:n.noOrders}),children:({node:e})=>(0,B.jsx)(J,{order:e})},o??`all`)]})}function J({order:e}){let t=V(),{money:n,moment:r}=u(),i=k(),a=e.usedAt===null?e.paidAt===null?t.orderedAt(r(e.createdAt)):t.paidAt(r(e.paidAt)):t.usedAt(r(e.usedAt));return(0,B.jsxs)(`article`,{className:z.order,"data-order":e.number,"data-status":e.status,children:[(0,B.jsxs)(`div`,{children:[(0,B.jsx)(`h3`,{children:e.voucher.title}),(0,B.jsx)(`p`,{className:z.number,children:e.number}),(0,B.jsx)(`p`,{className:z.quiet,children:a})]}),(0,B.jsxs)(`p`,{className:z.sum,children:[(0,B.jsx)(`strong`,{children:n(e.payValue)}),(0,B.jsx)(`span`,{className:e.status===`PAID`?z.on:z.off,children:i(e.status)})]})]})}function Y({id:e}){let t=V(),{money:n,number:r}=u(),[i]=(0,F.useState)(()=>C(30)),[{data:a,error:o},s]=x({query:R,variables:{id:e,...i}}),c=a?.shop;if(!c)return o?(0,B.jsx)(m,{error:o,again:()=>s({requestPolicy:`network-only`})}):(0,B.jsx)(f,{shape:`picture`,count:2});let{visits:l,visitsByDay:d,salesByDay:p}=c,h=e=>p.reduce((t,n)=>t+e(n),0),g=h(e=>e.amount),_=h(e=>e.orders),v=h(e=>e.paid);return(0,B.jsxs)(`section`,{className:z.figures,"aria-labelledby":`figures`,children:[(0,B.jsx)(`h2`,{id:`figures`,className:`unseen`,children:t.figures}),(0,B.jsxs)(`dl`,{className:z.totals,children:[(0,B.jsx)(X,{label:t.amount,name:`amount`,value:n(g)}),(0,B.jsx)(X,{label:t.paid,name:`paid`,value:r(v)}),(0,B.jsx)(X,{label:t.people,name:`visitors`,value:r(l.uniqueVisitors)}),(0,B.jsx)(X,{label:t.views,name:`views`,value:r(l.views)})]}),(0,B.jsxs)(`div`,{className:z.charts,children:[(0,B.jsx)(S,{title:t.visits,summary:t.visitsSummary(r(l.uniqueVisitors),r(l.views)),days:d.map(({date:e})=>e??``),series:[{label:t.views,colour:`star`,kind:`bars`,values:d.map(({views:e})=>e)},{label:t.visitors,colour:`good`,kind:`line`,values:d.map(({uniqueVisitors:e})=>e)}]}),(0,B.jsx)(S,{title:t.sales,summary:t.salesSummary(n(g),r(v),r(_)),days:p.map(({date:e})=>e),series:[{label:t.amount,colour:`star`,kind:`bars`,apart:!0,values:p.map(e=>e.amount),write:n},{label:t.ordered,colour:`quiet`,kind:`line`,values:p.map(e=>e.orders)},{label:t.paid,colour:`good`,kind:`line`,values:p.map(e=>e.paid)}]})]})]})}function X({label:e,name:t,value:n}){return(0,B.jsxs)(`div`,{"data-total":t,children:[(0,B.jsx)(`dt`,{children:e}),(0,B.jsx)(`dd`,{children:n})]})}export{U as MyShop};