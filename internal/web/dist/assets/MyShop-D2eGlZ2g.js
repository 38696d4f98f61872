import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{C as t,_ as n,c as r,m as i,s as a,t as o,u as s}from"./Screen-DN1Y-HZ_.js";import{t as c}from"./plus-B7ibvuwC.js";import{A as l,M as u,N as d,_ as f,b as p,g as m,h,k as g,p as _,u as v}from"./app-C5XjqgC4.js";import{a as y,n as b}from"./preload-helper-Chrg9qMa.js";import{t as x}from"./useAsk-ChgyYjXc.js";import{i as S,n as C,r as w,t as T}from"./VisitsChart-CWN5V5vY.js";import{n as E}from"./toast-DI_pCogT.js";import{i as D,r as O}from"./edit-voucher.gql-BGJe5kZL.js";import{t as k}from"./ForRole-zz8dFxmN.js";import{t as A}from"./document-bm9CNBvx.js";import{n as j,t as M}from"./statusNames-BUBOzoKx.js";var N={name:`external-link`,size:24,node:[[`path`,{d:`M15 3h6v6`,key:`1q9fwt`}],[`path`,{d:`M10 14 21 3`,key:`gplh6r`}],[`path`,{d:`M18 13v6a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2V8a2 2 0 0 1 2-2h6`,key:`a6xqqp`}]]};N.node;var P=i(N),F={name:`pencil`,size:24,node:[[`path`,{d:`M21.174 6.812a1 1 0 0 0-3.986-3.987L3.842 16.174a2 2 0 0 0-.5.83l-1.321 4.352a.5.5 0 0 0 .623.622l4.353-1.32a2 2 0 0 0 .83-.497z`,key:`1a8usu`}],[`path`,{d:`m15 5 4 4`,key:`1mk7zo`}]]};F.node;var I=i(F),L=e(y(),1),R=A(`6d863e10f59b253f0169c2af9034d47146ada9793446ac816e33147698e9cbc2`,`query MyShop($id: ID!) {
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
}`),z=A(`bfc7ad326a6c575c3a073364f05f6d237beb2ec122a38ae5fb50fa6ac835ce3e`,`query MyShopOrders($id: ID!, $status: [OrderStatus!], $first: Int! = 20, $after: Cursor) {
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
}`),B=A(`e95c55dab0070927f1ba3bbb3753f2e736de32a2f4da45f862c6c529f2e4df8f`,`query MyShopFigures($id: ID!, $from: Date!, $to: Date!) {
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
}`),V={head:`_head_15r25_1`,picture:`_picture_15r25_12`,about:`_about_15r25_16`,facts:`_facts_15r25_22`,quiet:`_quiet_15r25_29`,ways:`_ways_15r25_34`,parts:`_parts_15r25_41`,heading:`_heading_15r25_73`,choice:`_choice_15r25_86`,vouchers:`_vouchers_15r25_90`,orders:`_orders_15r25_91`,voucher:`_voucher_15r25_90`,tags:`_tags_15r25_107`,on:`_on_15r25_112`,off:`_off_15r25_113`,flash:`_flash_15r25_114`,price:`_price_15r25_137`,buttons:`_buttons_15r25_142`,order:`_order_15r25_91`,number:`_number_15r25_158`,sum:`_sum_15r25_162`,figures:`_figures_15r25_170`,charts:`_charts_15r25_171`,totals:`_totals_15r25_176`},H=b(),U=s({title:`My shop`,parts:`Parts of the shop`,vouchers:`Vouchers`,orders:`Orders`,figures:`Figures`,edit:`Edit shop`,look:`View shop page`,sold:e=>`${e} sold`,comments:e=>e===`1`?`1 comment`:`${e} comments`,gone:`There is no such shop.`,newVoucher:`New voucher`,noVouchers:`No vouchers yet. The first one can be on sale in a minute.`,flash:`Flash sale`,worth:e=>`worth ${e}`,left:(e,t)=>`${e} of ${t} left`,ON_SALE:`On sale`,OFF_SALE:`Off sale`,EXPIRED:`Over`,take:`Take off sale`,put:`Put on sale`,of:(e,t)=>`${e}: ${t}`,change:`Edit`,isOn:`It is on sale.`,isOff:`It is off sale.`,status:`Show`,allOrders:`All orders`,noOrders:`No orders like that.`,paidAt:e=>`paid ${e}`,usedAt:e=>`used ${e}`,orderedAt:e=>`ordered ${e}`,visits:`Visits, last 30 days`,visitsSummary:(e,t)=>`Visitors: ${e}, views: ${t}`,views:`Views`,paid:`Paid`,amount:`Turnover`,people:`Visitors`},{title:`我的店铺`,parts:`店铺管理`,vouchers:`优惠券`,orders:`订单`,figures:`数据`,edit:`编辑店铺`,look:`查看店铺页`,sold:e=>`已售 ${e}`,comments:e=>`${e} 条评论`,gone:`店铺不存在。`,newVoucher:`新建优惠券`,noVouchers:`还没有优惠券，一分钟即可上架第一张。`,flash:`限时秒杀`,worth:e=>`面值 ${e}`,left:(e,t)=>`剩余 ${e} / ${t}`,ON_SALE:`在售`,OFF_SALE:`已下架`,EXPIRED:`已结束`,take:`下架`,put:`上架`,of:(e,t)=>`${e}：${t}`,change:`编辑`,isOn:`已上架。`,isOff:`已下架。`,status:`筛选`,allOrders:`全部订单`,noOrders:`没有符合条件的订单。`,paidAt:e=>`支付于 ${e}`,usedAt:e=>`使用于 ${e}`,orderedAt:e=>`下单于 ${e}`,visits:`近 30 天访问`,visitsSummary:(e,t)=>`共 ${e} 人访问，浏览 ${t} 次`,views:`浏览`,paid:`支付`,amount:`成交额`,people:`访客人数`}),W=[`vouchers`,`orders`,`figures`];function G({id:e}){let r=U(),[i]=t(),a=W.find(e=>e===i.get(`part`))??`vouchers`,[{data:s,error:c},l]=x({query:R,variables:{id:e}}),u=s?.shop;return(0,H.jsx)(o,{title:u?.name??r.title,up:`/merchant`,children:(0,H.jsx)(k,{role:`MERCHANT`,children:u?(0,H.jsxs)(H.Fragment,{children:[(0,H.jsx)(K,{shop:u}),(0,H.jsx)(`nav`,{className:V.parts,"aria-label":r.parts,children:W.map(t=>(0,H.jsx)(n,{href:`/merchant/shops/${e}?part=${t}`,replace:!0,"aria-current":t===a?`page`:void 0,children:r[t]},t))}),a===`vouchers`&&(0,H.jsx)(q,{shop:u}),a===`orders`&&(0,H.jsx)(Y,{id:e}),a===`figures`&&(0,H.jsx)(Z,{id:e})]}):c?(0,H.jsx)(m,{error:c,again:()=>l({requestPolicy:`network-only`})}):s?(0,H.jsx)(h,{title:r.gone}):(0,H.jsx)(f,{shape:`row`,count:3})})})}function K({shop:e}){let t=U(),{number:n}=u();return(0,H.jsxs)(`div`,{className:V.head,children:[(0,H.jsx)(`div`,{className:V.picture,children:(0,H.jsx)(l,{src:e.images[0]?.thumbnailUrl,alt:``,ratio:1,eager:!0})}),(0,H.jsxs)(`div`,{className:V.about,children:[(0,H.jsxs)(`p`,{className:V.facts,children:[(0,H.jsx)(_,{value:e.score}),(0,H.jsx)(`span`,{children:t.sold(n(e.sold))}),(0,H.jsx)(`span`,{children:t.comments(n(e.commentCount))})]}),(0,H.jsx)(`p`,{className:V.quiet,children:[e.area,e.address].filter(Boolean).join(` · `)})]}),(0,H.jsxs)(`div`,{className:V.ways,children:[(0,H.jsxs)(r,{small:!0,kind:`quiet`,href:`/merchant/shops/${e.id}/edit`,children:[(0,H.jsx)(I,{"aria-hidden":`true`,size:16}),` `,t.edit]}),(0,H.jsxs)(r,{small:!0,kind:`plain`,href:`/shops/${e.id}`,children:[(0,H.jsx)(P,{"aria-hidden":`true`,size:16}),` `,t.look]})]})]})}function q({shop:e}){let t=U();return(0,H.jsxs)(`section`,{"aria-labelledby":`vouchers`,children:[(0,H.jsxs)(`div`,{className:V.heading,children:[(0,H.jsx)(`h2`,{id:`vouchers`,children:t.vouchers}),(0,H.jsxs)(r,{small:!0,href:`/merchant/shops/${e.id}/vouchers/new`,children:[(0,H.jsx)(c,{"aria-hidden":`true`,size:18}),` `,t.newVoucher]})]}),e.vouchers.length===0?(0,H.jsx)(h,{title:t.noVouchers}):(0,H.jsx)(`ul`,{className:V.vouchers,children:e.vouchers.map(e=>(0,H.jsx)(`li`,{children:(0,H.jsx)(J,{voucher:e})},e.id))})]})}function J({voucher:e}){let t=U(),{money:n,number:i,moment:o}=u(),[s,c]=g(D),[l,f]=g(O),p=`sale`in e?e.sale:null,m=e.status===`ON_SALE`,h=async()=>{let n={id:e.id,status:m?`OFF_SALE`:`ON_SALE`};(await(p?l:s)({input:n})).ok&&E(m?t.isOff:t.isOn)},_=m?t.take:t.put;return(0,H.jsxs)(`article`,{className:V.voucher,"data-voucher":e.id,"data-status":e.status,children:[(0,H.jsxs)(`p`,{className:V.tags,children:[(0,H.jsx)(`span`,{className:m?V.on:V.off,children:t[e.status]}),p&&(0,H.jsxs)(`span`,{className:V.flash,children:[(0,H.jsx)(d,{"aria-hidden":`true`,size:14,fill:`currentColor`}),` `,t.flash]})]}),(0,H.jsx)(`h3`,{children:e.title}),e.subTitle!==null&&(0,H.jsx)(`p`,{className:V.quiet,children:e.subTitle}),(0,H.jsxs)(`p`,{className:V.price,children:[(0,H.jsx)(`strong`,{children:n(e.payValue)}),` `,(0,H.jsx)(`span`,{className:V.quiet,children:t.worth(n(e.faceValue))})]}),p&&(0,H.jsxs)(`div`,{className:V.quiet,children:[(0,H.jsx)(`p`,{"data-stock":p.stock,children:t.left(i(p.stock),i(p.initialStock))}),(0,H.jsxs)(`p`,{children:[o(p.beginsAt),` – `,o(p.endsAt)]})]}),(0,H.jsxs)(`div`,{className:V.buttons,children:[(0,H.jsxs)(r,{small:!0,kind:`quiet`,href:`/merchant/vouchers/${e.id}`,children:[t.change,(0,H.jsxs)(`span`,{className:`unseen`,children:[` `,e.title]})]}),e.status!==`EXPIRED`&&(0,H.jsx)(a,{small:!0,kind:`plain`,busy:c||f,"aria-label":t.of(_,e.title),onClick:()=>void h(),children:_})]})]})}function Y({id:e}){let n=U(),r=j(),[i,a]=t(),o=M.find(e=>e===i.get(`status`)),s=e=>a(t=>{let n=new URLSearchParams(t);return e===``?n.delete(`status`):n.set(`status`,e),n},{replace:!0}),c=o===void 0?{id:e}:{id:e,status:[o]};return(0,H.jsxs)(`section`,{"aria-labelledby":`orders`,children:[(0,H.jsxs)(`div`,{className:V.heading,children:[(0,H.jsx)(`h2`,{id:`orders`,children:n.orders}),(0,H.jsx)(`div`,{className:V.choice,children:(0,H.jsx)(p,{label:n.status,children:e=>(0,H.jsxs)(`select`,{...e,value:o??``,onChange:e=>s(e.target.value),children:[(0,H.jsx)(`option`,{value:``,children:n.allOrders}),M.map(e=>(0,H.jsx)(`option`,{value:e,children:r(e)},e))]})})})]}),(0,H.jsx)(v,{name:`orders:${o??`all`}`,document:z,variables:c,connection:({shop:e})=>e?.orders,fresh:!0,className:V.orders,loading:(0,H.jsx)(f,{shape:`text`,count:4}),empty:(0,H.jsx)(h,{title:n.noOrders}),children:({node:e})=>(0,H.jsx)(X,{order:e})},o??`all`)]})}function X({order:e}){let t=U(),{money:n,moment:r}=u(),i=j(),a=e.usedAt===null?e.paidAt===null?t.orderedAt(r(e.createdAt)):t.paidAt(r(e.paidAt)):t.usedAt(r(e.usedAt));return(0,H.jsxs)(`article`,{className:V.order,"data-order":e.number,"data-status":e.status,children:[(0,H.jsxs)(`div`,{children:[(0,H.jsx)(`h3`,{children:e.voucher.title}),(0,H.jsx)(`p`,{className:V.number,children:e.number}),(0,H.jsx)(`p`,{className:V.quiet,children:a})]}),(0,H.jsxs)(`p`,{className:V.sum,children:[(0,H.jsx)(`strong`,{children:n(e.payValue)}),(0,H.jsx)(`span`,{className:e.status===`PAID`?V.on:V.off,children:i(e.status)})]})]})}function Z({id:e}){let t=U(),{money:n,number:r}=u(),[i]=(0,L.useState)(()=>S(30)),[{data:a,error:o},s]=x({query:B,variables:{id:e,...i}}),c=a?.shop;if(!c)return o?(0,H.jsx)(m,{error:o,again:()=>s({requestPolicy:`network-only`})}):(0,H.jsx)(f,{shape:`picture`,count:2});let{visits:l,visitsByDay:d,salesByDay:p}=c,{amount:h,paid:g}=w(p);return(0,H.jsxs)(`section`,{className:V.figures,"aria-labelledby":`figures`,children:[(0,H.jsx)(`h2`,{id:`figures`,className:`unseen`,children:t.figures}),(0,H.jsxs)(`dl`,{className:V.totals,children:[(0,H.jsx)(Q,{label:t.amount,name:`amount`,value:n(h)}),(0,H.jsx)(Q,{label:t.paid,name:`paid`,value:r(g)}),(0,H.jsx)(Q,{label:t.people,name:`visitors`,value:r(l.uniqueVisitors)}),(0,H.jsx)(Q,{label:t.views,name:`views`,value:r(l.views)})]}),(0,H.jsxs)(`div`,{className:V.charts,children:[(0,H.jsx)(T,{title:t.visits,summary:t.visitsSummary(r(l.uniqueVisitors),r(l.views)),days:d}),(0,H.jsx)(C,{days:p})]})]})}function Q({label:e,name:t,value:n}){return(0,H.jsxs)(`div`,{"data-total":t,children:[(0,H.jsx)(`dt`,{children:e}),(0,H.jsx)(`dd`,{children:n})]})}export{G as MyShop};