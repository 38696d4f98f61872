import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{l as t,o as n,p as r,t as i}from"./Screen-DdURs_yY.js";import{t as a}from"./scan-line-zClVI9dC.js";import{a as o,n as s}from"./preload-helper-Chrg9qMa.js";import{i as c,t as l}from"./document-bm9CNBvx.js";import{n as u}from"./errors-C_u5kzCD.js";import{A as d,D as f,_ as p}from"./app-C_ToAT57.js";import{t as m}from"./Form-C-O9OnmU.js";import{n as h}from"./toast-ZrJXNZZ4.js";import{t as g}from"./ForRole-57slH6dd.js";import{n as _}from"./statusNames-Pl1u2-H1.js";var v={name:`circle-check`,size:24,node:[[`circle`,{cx:`12`,cy:`12`,r:`10`,key:`1mglay`}],[`path`,{d:`m16 9-5.5 5.5L8 12`,key:`xofnsj`}]],aliases:[`check-circle-2`]};v.node;var y=r(v),b=e(o(),1),x=l(`56b60f081205ebaf576860eb9de06d125ca70f832424263c7871ab33d1dca5c9`,`query RedeemableOrder($number: String!) {
  orderByNumber(number: $number) {
    ...RedeemableOrder
    __typename
  }
}
fragment RedeemableOrder on Order {
  ...MerchantOrder
  cancelledAt
  refundedAt
  voucher {
    id
    subTitle
    rules
    faceValue
    shop {
      id
      name
      __typename
    }
    __typename
  }
  __typename
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
}`),S=l(`515174542b6ecaf18f957c69f4edc247596adb901fdf0251737a4d66db4c0a14`,`mutation RedeemOrder($id: ID!) {
  redeemOrder(orderId: $id) {
    order {
      ...RedeemableOrder
      __typename
    }
    userErrors {
      ...Refused
      __typename
    }
    __typename
  }
}
fragment RedeemableOrder on Order {
  ...MerchantOrder
  cancelledAt
  refundedAt
  voucher {
    id
    subTitle
    rules
    faceValue
    shop {
      id
      name
      __typename
    }
    __typename
  }
  __typename
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
fragment Refused on UserError {
  code
  message
  field
  __typename
}`),C={desk:`_desk_1fsk1_1`,order:`_order_1fsk1_8`,shop:`_shop_1fsk1_17`,quiet:`_quiet_1fsk1_22`,price:`_price_1fsk1_23`,number:`_number_1fsk1_32`,status:`_status_1fsk1_42`,rules:`_rules_1fsk1_46`,done:`_done_1fsk1_58`,why:`_why_1fsk1_59`},w=s(),T=t({title:`Redeem a voucher`,number:`Number of the order`,numberHint:`The customer finds it in the order.`,find:`Find`,notFound:`There is no such order in your shops.`,digits:`The number has digits only.`,order:`Order`,worth:e=>`worth ${e}, paid`,rules:`Rules`,redeem:`Redeem`,done:`Redeemed. Enjoy!`,next:`Enter the next number.`,QUEUED:`It is not an order yet: it waits in the queue.`,UNPAID:`It is not paid yet. The customer has to pay it first.`,PAID:``,USED:``,usedAt:e=>`It was redeemed already, ${e}.`,CANCELLED:`It was cancelled.`,REFUNDING:`The money is on its way back to the customer.`,REFUNDED:`The customer has the money back.`,FAILED:`It failed, and nothing was paid.`},{title:`核销优惠券`,number:`订单号`,numberHint:`顾客可在订单详情中查看。`,find:`查询`,notFound:`你的店铺没有该订单。`,digits:`订单号只含数字。`,order:`订单`,worth:e=>`面值 ${e}，实付`,rules:`使用规则`,redeem:`核销`,done:`核销成功。`,next:`请输入下一个订单号。`,QUEUED:`订单排队中，尚未生成。`,UNPAID:`订单尚未支付，请顾客先付款。`,PAID:``,USED:``,usedAt:e=>`该订单已于 ${e} 核销。`,CANCELLED:`订单已取消。`,REFUNDING:`订单退款中。`,REFUNDED:`订单已退款。`,FAILED:`下单失败，未扣款。`});function E(){let e=T();return(0,w.jsx)(i,{title:e.title,up:`/merchant`,children:(0,w.jsx)(g,{role:`MERCHANT`,children:(0,w.jsx)(D,{})})})}function D(){let e=T(),t=c(),r=u(),[i,o]=f(S),s=(0,b.useRef)(null),[l,d]=(0,b.useState)(``),[g,_]=(0,b.useState)(!1),[v,y]=(0,b.useState)(),[E,D]=(0,b.useState)(null),[k,A]=(0,b.useState)(!1),j=()=>s.current?.querySelector(`input`)?.focus(),M=async()=>{let n=l.replace(/[\s-]/g,``);if(A(!1),D(null),!/^\d+$/.test(n)){y(e.digits),j();return}y(void 0),_(!0);let{data:i,error:a}=await t.query(x,{number:n},{requestPolicy:`network-only`}).toPromise();if(_(!1),a){h(r(a));return}let o=i?.orderByNumber??null;D(o),o===null&&(y(e.notFound),j())},N=async e=>{let t=await i({id:e}),n=t.value?.order;n&&D(n),t.ok&&(A(!0),d(``),j())};return(0,w.jsxs)(`div`,{className:C.desk,children:[(0,w.jsx)(`div`,{ref:s,children:(0,w.jsxs)(m,{label:e.title,refusals:[],fields:[],onSubmit:()=>void M(),children:[(0,w.jsx)(p,{label:e.number,hint:e.numberHint,error:v,inputMode:`numeric`,autoComplete:`off`,enterKeyHint:`search`,maxLength:40,required:!0,value:l,onChange:e=>{d(e.target.value),y(void 0)}}),(0,w.jsxs)(n,{type:`submit`,wide:!0,kind:E?.status===`PAID`?`quiet`:`primary`,busy:g,children:[!g&&(0,w.jsx)(a,{"aria-hidden":`true`,size:20}),` `,e.find]})]})}),(0,w.jsx)(`div`,{role:`status`,className:C.found,children:E&&(0,w.jsx)(O,{order:E,justDone:k,busy:o,onRedeem:()=>void N(E.id)})})]})}function O({order:e,justDone:t,busy:r,onRedeem:i}){let a=T(),{money:o,moment:s}=d(),c=_(),{voucher:l,status:u}=e,f=e.usedAt===null?a[u]:a.usedAt(s(e.usedAt));return(0,w.jsxs)(`section`,{className:C.order,"aria-label":a.order,"data-order":e.number,"data-status":u,children:[(0,w.jsx)(`p`,{className:C.shop,children:l.shop.name}),(0,w.jsx)(`h2`,{children:l.title}),l.subTitle!==null&&(0,w.jsx)(`p`,{className:C.quiet,children:l.subTitle}),(0,w.jsxs)(`p`,{className:C.price,children:[a.worth(o(l.faceValue)),` `,(0,w.jsx)(`strong`,{children:o(e.payValue)})]}),(0,w.jsxs)(`p`,{className:C.number,children:[e.number,` `,(0,w.jsx)(`span`,{className:C.status,children:c(u)})]}),l.rules!==null&&(0,w.jsxs)(`div`,{className:C.rules,children:[(0,w.jsx)(`h3`,{children:a.rules}),(0,w.jsx)(`p`,{children:l.rules})]}),u===`PAID`?(0,w.jsx)(n,{wide:!0,busy:r,onClick:i,children:a.redeem}):t?(0,w.jsxs)(`p`,{className:C.done,"data-redeemed":e.number,children:[(0,w.jsx)(y,{"aria-hidden":`true`,size:26}),(0,w.jsxs)(`span`,{children:[(0,w.jsx)(`strong`,{children:a.done}),` `,a.next]})]}):(0,w.jsx)(`p`,{className:C.why,"data-refused":u,children:f})]})}export{E as Redeem};