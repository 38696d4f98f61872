import{C as e,_ as t,c as n,m as r,s as i,t as a,u as o}from"./Screen-Dmve7E8x.js";import{t as s}from"./plus-DAZYgu_U.js";import{A as c,F as l,P as u,_ as d,b as f,g as p,h as m,k as h,p as g,u as _}from"./app-irk5DRvc.js";import{t as v}from"./useAsk-Bqz0_vO1.js";import{i as y,n as b,r as x,t as S}from"./VisitsChart-BcIZHZSj.js";import{i as C,r as w}from"./preload-helper-DXbBgPnf.js";import{n as T}from"./toast--XnaLTgW.js";import{i as E,r as D}from"./edit-voucher.gql-izowmaGE.js";import{t as O}from"./ForRole-CKmsPtZm.js";import{t as k}from"./document-D_a4HVPm.js";import{n as A,t as j}from"./statusNames-C0pfFXCz.js";var M={name:`external-link`,size:24,node:[[`path`,{d:`M15 3h6v6`,key:`1q9fwt`}],[`path`,{d:`M10 14 21 3`,key:`gplh6r`}],[`path`,{d:`M18 13v6a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2V8a2 2 0 0 1 2-2h6`,key:`a6xqqp`}]]};M.node;var N=r(M),P={name:`pencil`,size:24,node:[[`path`,{d:`M21.174 6.812a1 1 0 0 0-3.986-3.987L3.842 16.174a2 2 0 0 0-.5.83l-1.321 4.352a.5.5 0 0 0 .623.622l4.353-1.32a2 2 0 0 0 .83-.497z`,key:`1a8usu`}],[`path`,{d:`m15 5 4 4`,key:`1mk7zo`}]]};P.node;var F=r(P),I=k(`6d863e10f59b253f0169c2af9034d47146ada9793446ac816e33147698e9cbc2`,`query MyShop($id: ID!) {
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
}`),L=k(`8c44369f429985838ad7e33893df1a9e94cbf2509a8d0f8a6060385ab46ec917`,`query MyShopOrders($id: ID!, $status: [OrderStatus!], $first: Int! = 20, $after: Cursor) {
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
}`),R=k(`e95c55dab0070927f1ba3bbb3753f2e736de32a2f4da45f862c6c529f2e4df8f`,`query MyShopFigures($id: ID!, $from: Date!, $to: Date!) {
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
}`),z={head:`_head_15r25_1`,picture:`_picture_15r25_12`,about:`_about_15r25_16`,facts:`_facts_15r25_22`,quiet:`_quiet_15r25_29`,ways:`_ways_15r25_34`,parts:`_parts_15r25_41`,heading:`_heading_15r25_73`,choice:`_choice_15r25_86`,vouchers:`_vouchers_15r25_90`,orders:`_orders_15r25_91`,voucher:`_voucher_15r25_90`,tags:`_tags_15r25_107`,on:`_on_15r25_112`,off:`_off_15r25_113`,flash:`_flash_15r25_114`,price:`_price_15r25_137`,buttons:`_buttons_15r25_142`,order:`_order_15r25_91`,number:`_number_15r25_158`,sum:`_sum_15r25_162`,figures:`_figures_15r25_170`,charts:`_charts_15r25_171`,totals:`_totals_15r25_176`},B=C(),V=o({title:`My shop`,parts:`Parts of the shop`,vouchers:`Vouchers`,orders:`Orders`,figures:`Figures`,edit:`Edit shop`,look:`View shop page`,sold:e=>`${e} sold`,comments:e=>e===`1`?`1 comment`:`${e} comments`,gone:`There is no such shop.`,newVoucher:`New voucher`,noVouchers:`No vouchers yet. The first one can be on sale in a minute.`,flash:`Flash sale`,worth:e=>`worth ${e}`,left:(e,t)=>`${e} of ${t} left`,ON_SALE:`On sale`,OFF_SALE:`Off sale`,EXPIRED:`Over`,take:`Take off sale`,put:`Put on sale`,of:(e,t)=>`${e}: ${t}`,change:`Edit`,isOn:`It is on sale.`,isOff:`It is off sale.`,status:`Show`,allOrders:`All orders`,noOrders:`No orders like that.`,paidAt:e=>`paid ${e}`,usedAt:e=>`used ${e}`,orderedAt:e=>`ordered ${e}`,visits:`Visits, last 30 days`,visitsSummary:(e,t)=>`Visitors: ${e}, views: ${t}`,views:`Views`,paid:`Paid`,amount:`Turnover`,people:`Visitors`},{title:`我的店铺`,parts:`店铺管理`,vouchers:`优惠券`,orders:`订单`,figures:`数据`,edit:`编辑店铺`,look:`查看店铺页`,sold:e=>`已售 ${e}`,comments:e=>`${e} 条评论`,gone:`店铺不存在。`,newVoucher:`新建优惠券`,noVouchers:`还没有优惠券，一分钟即可上架第一张。`,flash:`限时秒杀`,worth:e=>`面值 ${e}`,left:(e,t)=>`剩余 ${e} / ${t}`,ON_SALE:`在售`,OFF_SALE:`已下架`,EXPIRED:`已结束`,take:`下架`,put:`上架`,of:(e,t)=>`${e}：${t}`,change:`编辑`,isOn:`已上架。`,isOff:`已下架。`,status:`筛选`,allOrders:`全部订单`,noOrders:`没有符合条件的订单。`,paidAt:e=>`支付于 ${e}`,usedAt:e=>`使用于 ${e}`,orderedAt:e=>`下单于 ${e}`,visits:`近 30 天访问`,visitsSummary:(e,t)=>`共 ${e} 人访问，浏览 ${t} 次`,views:`浏览`,paid:`支付`,amount:`成交额`,people:`访客人数`}),H=[`vouchers`,`orders`,`figures`];function U({id:n}){let r=V(),[i]=e(),o=H.find(e=>e===i.get(`part`))??`vouchers`,[{data:s,error:c},l]=v({query:I,variables:{id:n}}),u=s?.shop;return(0,B.jsx)(a,{title:u?.name??r.title,up:`/merchant`,children:(0,B.jsx)(O,{role:`MERCHANT`,children:u?(0,B.jsxs)(B.Fragment,{children:[(0,B.jsx)(W,{shop:u}),(0,B.jsx)(`nav`,{className:z.parts,"aria-label":r.parts,children:H.map(e=>(0,B.jsx)(t,{href:`/merchant/shops/${n}?part=${e}`,replace:!0,"aria-current":e===o?`page`:void 0,children:r[e]},e))}),o===`vouchers`&&(0,B.jsx)(G,{shop:u}),o===`orders`&&(0,B.jsx)(q,{id:n}),o===`figures`&&(0,B.jsx)(Y,{id:n})]}):c?(0,B.jsx)(p,{error:c,again:()=>l({requestPolicy:`network-only`})}):s?(0,B.jsx)(m,{title:r.gone}):(0,B.jsx)(d,{shape:`row`,count:3})})})}function W({shop:e}){let t=V(),{number:r}=u();return(0,B.jsxs)(`div`,{className:z.head,children:[(0,B.jsx)(`div`,{className:z.picture,children:(0,B.jsx)(c,{src:e.images[0]?.thumbnailUrl,alt:``,ratio:1,eager:!0})}),(0,B.jsxs)(`div`,{className:z.about,children:[(0,B.jsxs)(`p`,{className:z.facts,children:[(0,B.jsx)(g,{value:e.score}),(0,B.jsx)(`span`,{children:t.sold(r(e.sold))}),(0,B.jsx)(`span`,{children:t.comments(r(e.commentCount))})]}),(0,B.jsx)(`p`,{className:z.quiet,children:[e.area??``,e.address].filter(Boolean).map(w).join(` · `)})]}),(0,B.jsxs)(`div`,{className:z.ways,children:[(0,B.jsxs)(n,{small:!0,kind:`quiet`,href:`/merchant/shops/${e.id}/edit`,children:[(0,B.jsx)(F,{"aria-hidden":`true`,size:16}),` `,t.edit]}),(0,B.jsxs)(n,{small:!0,kind:`plain`,href:`/shops/${e.id}`,children:[(0,B.jsx)(N,{"aria-hidden":`true`,size:16}),` `,t.look]})]})]})}function G({shop:e}){let t=V();return(0,B.jsxs)(`section`,{"aria-labelledby":`vouchers`,children:[(0,B.jsxs)(`div`,{className:z.heading,children:[(0,B.jsx)(`h2`,{id:`vouchers`,children:t.vouchers}),(0,B.jsxs)(n,{small:!0,href:`/merchant/shops/${e.id}/vouchers/new`,children:[(0,B.jsx)(s,{"aria-hidden":`true`,size:18}),` `,t.newVoucher]})]}),e.vouchers.length===0?(0,B.jsx)(m,{title:t.noVouchers}):(0,B.jsx)(`ul`,{className:z.vouchers,children:e.vouchers.map(e=>(0,B.jsx)(`li`,{children:(0,B.jsx)(K,{voucher:e})},e.id))})]})}function K({voucher:e}){let t=V(),{money:r,number:a,moment:o}=u(),[s,c]=h(E),[d,f]=h(D),p=`sale`in e?e.sale:null,m=e.status===`ON_SALE`,g=async()=>{let n={id:e.id,status:m?`OFF_SALE`:`ON_SALE`};(await(p?d:s)({input:n})).ok&&T(m?t.isOff:t.isOn)},_=m?t.take:t.put;return(0,B.jsxs)(`article`,{className:z.voucher,"data-voucher":e.id,"data-status":e.status,children:[(0,B.jsxs)(`p`,{className:z.tags,children:[(0,B.jsx)(`span`,{className:m?z.on:z.off,children:t[e.status]}),p&&(0,B.jsxs)(`span`,{className:z.flash,children:[(0,B.jsx)(l,{"aria-hidden":`true`,size:14,fill:`currentColor`}),` `,t.flash]})]}),(0,B.jsx)(`h3`,{dir:`auto`,children:e.title}),e.subTitle!==null&&(0,B.jsx)(`p`,{className:z.quiet,dir:`auto`,children:e.subTitle}),(0,B.jsxs)(`p`,{className:z.price,children:[(0,B.jsx)(`strong`,{children:r(e.payValue)}),` `,(0,B.jsx)(`span`,{className:z.quiet,children:t.worth(r(e.faceValue))})]}),p&&(0,B.jsxs)(`div`,{className:z.quiet,children:[(0,B.jsx)(`p`,{"data-stock":p.stock,children:t.left(a(p.stock),a(p.initialStock))}),(0,B.jsxs)(`p`,{children:[o(p.beginsAt),` – `,o(p.endsAt)]})]}),(0,B.jsxs)(`div`,{className:z.buttons,children:[(0,B.jsxs)(n,{small:!0,kind:`quiet`,href:`/merchant/vouchers/${e.id}`,children:[t.change,(0,B.jsxs)(`span`,{className:`unseen`,children:[` `,(0,B.jsx)(`bdi`,{children:e.title})]})]}),e.status!==`EXPIRED`&&(0,B.jsx)(i,{small:!0,kind:`plain`,busy:c||f,"aria-label":t.of(_,w(e.title)),onClick:()=>void g(),children:_})]})]})}function q({id:t}){let n=V(),r=A(),[i,a]=e(),o=j.find(e=>e===i.get(`status`)),s=e=>a(t=>{let n=new URLSearchParams(t);return e===``?n.delete(`status`):n.set(`status`,e),n},{replace:!0}),c=o===void 0?{id:t}:{id:t,status:[o]};return(0,B.jsxs)(`section`,{"aria-labelledby":`orders`,children:[(0,B.jsxs)(`div`,{className:z.heading,children:[(0,B.jsx)(`h2`,{id:`orders`,children:n.orders}),(0,B.jsx)(`div`,{className:z.choice,children:(0,B.jsx)(f,{label:n.status,children:e=>(0,B.jsxs)(`select`,{...e,value:o??``,onChange:e=>s(e.target.value),children:[(0,B.jsx)(`option`,{value:``,children:n.allOrders}),j.map(e=>(0,B.jsx)(`option`,{value:e,children:r(e)},e))]})})})]}),(0,B.jsx)(_,{name:`orders:${o??`all`}`,document:L,variables:c,connection:({shop:e})=>e?.orders,fresh:!0,className:z.orders,loading:(0,B.jsx)(d,{shape:`text`,count:4}),empty:(0,B.jsx)(m,{title:n.noOrders}),children:({node:e})=>(0,B.jsx)(J,{order:e})},o??`all`)]})}function J({order:e}){let t=V(),{money:n,moment:r}=u(),i=A(),a=e.usedAt===null?e.paidAt===null?t.orderedAt(r(e.createdAt)):t.paidAt(r(e.paidAt)):t.usedAt(r(e.usedAt));return(0,B.jsxs)(`article`,{className:z.order,"data-order":e.number,"data-status":e.status,children:[(0,B.jsxs)(`div`,{children:[(0,B.jsx)(`h3`,{dir:`auto`,children:e.terms.title}),(0,B.jsx)(`p`,{className:z.number,children:e.number}),(0,B.jsx)(`p`,{className:z.quiet,children:a})]}),(0,B.jsxs)(`p`,{className:z.sum,children:[(0,B.jsx)(`strong`,{children:n(e.payValue)}),(0,B.jsx)(`span`,{className:e.status===`PAID`?z.on:z.off,children:i(e.status)})]})]})}function Y({id:e}){let t=V(),{money:n,number:r}=u(),{range:i,error:a,ask:o}=b(30),[{data:s,error:c=a},l]=v({query:R,variables:{id:e,from:``,to:``,...i},pause:i===null}),f=s?.shop;if(!f)return c?(0,B.jsx)(p,{error:c,again:()=>i===null?o():l({requestPolicy:`network-only`})}):(0,B.jsx)(d,{shape:`picture`,count:2});let{visits:m,visitsByDay:h,salesByDay:g}=f,{amount:_,paid:C}=y(g);return(0,B.jsxs)(`section`,{className:z.figures,"aria-labelledby":`figures`,children:[(0,B.jsx)(`h2`,{id:`figures`,className:`unseen`,children:t.figures}),(0,B.jsxs)(`dl`,{className:z.totals,children:[(0,B.jsx)(X,{label:t.amount,name:`amount`,value:n(_)}),(0,B.jsx)(X,{label:t.paid,name:`paid`,value:r(C)}),(0,B.jsx)(X,{label:t.people,name:`visitors`,value:r(m.uniqueVisitors)}),(0,B.jsx)(X,{label:t.views,name:`views`,value:r(m.views)})]}),(0,B.jsxs)(`div`,{className:z.charts,children:[(0,B.jsx)(S,{title:t.visits,summary:t.visitsSummary(r(m.uniqueVisitors),r(m.views)),days:h}),(0,B.jsx)(x,{days:g})]})]})}function X({label:e,name:t,value:n}){return(0,B.jsxs)(`div`,{"data-total":t,children:[(0,B.jsx)(`dt`,{children:e}),(0,B.jsx)(`dd`,{children:n})]})}export{U as MyShop};