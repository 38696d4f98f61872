import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{m as t,s as n,t as r,u as i}from"./Screen-DN1Y-HZ_.js";import{t as a}from"./scan-line-mhyxnnFC.js";import{a as o,n as s}from"./preload-helper-Chrg9qMa.js";import{i as c,t as l}from"./document-bm9CNBvx.js";import{n as u,r as d}from"./errors-DzDCqRf4.js";import{M as f,k as p,y as m}from"./app-C5XjqgC4.js";import{r as h,t as g}from"./clock-2jr6Lkv9.js";import{t as _}from"./doubt-X-8XjeIo.js";import{t as v}from"./Form-8fiyXdR8.js";import{s as y}from"./useAsk-ChgyYjXc.js";import{n as b}from"./toast-DI_pCogT.js";import{t as x}from"./ForRole-zz8dFxmN.js";import{n as S}from"./statusNames-BUBOzoKx.js";var C={name:`circle-check`,size:24,node:[[`circle`,{cx:`12`,cy:`12`,r:`10`,key:`1mglay`}],[`path`,{d:`m16 9-5.5 5.5L8 12`,key:`xofnsj`}]],aliases:[`check-circle-2`]};C.node;var w=t(C),T=e(o(),1),E=l(`56b60f081205ebaf576860eb9de06d125ca70f832424263c7871ab33d1dca5c9`,`query RedeemableOrder($number: String!) {
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
}`),D=l(`515174542b6ecaf18f957c69f4edc247596adb901fdf0251737a4d66db4c0a14`,`mutation RedeemOrder($id: ID!) {
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
}`),O={desk:`_desk_1fsk1_1`,order:`_order_1fsk1_8`,shop:`_shop_1fsk1_17`,quiet:`_quiet_1fsk1_22`,price:`_price_1fsk1_23`,number:`_number_1fsk1_32`,status:`_status_1fsk1_42`,rules:`_rules_1fsk1_46`,done:`_done_1fsk1_58`,why:`_why_1fsk1_59`},k=s(),A=i({title:`Redeem a voucher`,number:`Number of the order`,numberHint:`The customer finds it in the order.`,find:`Find`,notFound:`There is no such order in your shops.`,digits:`The number has digits only.`,order:`Order`,worth:e=>`worth ${e}, paid`,rules:`Rules`,redeem:`Redeem`,done:`Redeemed. Enjoy!`,next:`Enter the next number.`,doneFor:e=>`Order ${e} is redeemed.`,openFor:e=>`Whether order ${e} was redeemed is not known: find it again.`,QUEUED:`It is not an order yet: it waits in the queue.`,UNPAID:`It is not paid yet. The customer has to pay it first.`,PAID:``,USED:``,usedAt:e=>`It was redeemed already, ${e}.`,CANCELLED:`It was cancelled.`,REFUNDING:`The money is on its way back to the customer.`,REFUNDED:`The customer has the money back.`,FAILED:`It failed, and nothing was paid.`},{title:`核销优惠券`,number:`券码`,numberHint:`顾客可在订单详情中查看券码。`,find:`查询`,notFound:`你的店铺没有该券码。`,digits:`券码只含数字。`,order:`订单`,worth:e=>`面值 ${e}，实付`,rules:`使用规则`,redeem:`核销`,done:`核销成功。`,next:`请输入下一个券码。`,doneFor:e=>`券码 ${e} 已核销。`,openFor:e=>`券码 ${e} 的核销结果未知，请重新查询。`,QUEUED:`订单排队中，尚未生成。`,UNPAID:`订单尚未支付，请顾客先付款。`,PAID:``,USED:``,usedAt:e=>`该订单已于 ${e} 核销。`,CANCELLED:`订单已取消。`,REFUNDING:`订单退款中。`,REFUNDED:`订单已退款。`,FAILED:`下单失败，未扣款。`});function j(){let e=A();return(0,k.jsx)(r,{title:e.title,up:`/merchant`,children:(0,k.jsx)(x,{role:`MERCHANT`,children:(0,k.jsx)(N,{})})})}var M=5e3;function N(){let e=A(),t=c(),r=u(),i=d();h();let[o,s]=p(D,{say:!1}),l=(0,T.useRef)(null),[f,x]=(0,T.useState)(``),[S,C]=(0,T.useState)(!1),[w,j]=(0,T.useState)(),[N,F]=(0,T.useState)(null),[I,L]=(0,T.useState)(!1),R=(0,T.useRef)(0),z=(0,T.useRef)(null),B=()=>l.current?.querySelector(`input`)?.focus(),V=e=>t.query(E,{number:e},{requestPolicy:`network-only`}).toPromise(),H=(e,t=!1)=>{let{id:n,since:r=1/0}=z.current??{},i=e?.usedAt?new Date(e.usedAt).getTime():-1/0,a=e?.status===`USED`&&e.id===n&&i>r-M;F(e),L(t||a),e?.status!==`PAID`&&e?.id===n&&(z.current=null),(t||a)&&(x(``),B())},U=async e=>{let t=R.current,{data:n}=await V(e);t===R.current&&n?.orderByNumber&&H(n.orderByNumber)};y(()=>{N!==null&&N.id===z.current?.id&&U(N.number)});let W=async()=>{let t=++R.current,n=f.replace(/[\s-]/g,``);if(C(!1),L(!1),F(null),!/^\d+$/.test(n)){j(e.digits),B();return}j(void 0),C(!0);let{data:i,error:a}=await V(n);if(t!==R.current)return;if(C(!1),a){b(r(a));return}let o=i?.orderByNumber??null;H(o),o===null&&(j(e.notFound),B())},G=async({id:t,number:n})=>{let r=R.current,a=z.current?.id===t?z.current.since:g(),s=await o({id:t}),c=!s.ok&&_(s.error),[l]=s.ok?[]:s.refusals;if(r!==R.current){s.ok?b(e.doneFor(n)):c?b(e.openFor(n)):l&&b(`${n}: ${i(l)}`);return}c&&(z.current={id:t,since:a});let u=s.value?.order;u?H(u,s.ok):(l&&b(i(l)),await U(n))};return(0,k.jsxs)(`div`,{className:O.desk,children:[(0,k.jsx)(`div`,{ref:l,children:(0,k.jsxs)(v,{label:e.title,refusals:[],fields:[],onSubmit:()=>void W(),children:[(0,k.jsx)(m,{label:e.number,hint:e.numberHint,error:w,inputMode:`numeric`,autoComplete:`off`,enterKeyHint:`search`,maxLength:40,required:!0,value:f,onChange:e=>{x(e.target.value),j(void 0)}}),(0,k.jsxs)(n,{type:`submit`,wide:!0,kind:N?.status===`PAID`?`quiet`:`primary`,busy:S,children:[!S&&(0,k.jsx)(a,{"aria-hidden":`true`,size:20}),` `,e.find]})]})}),(0,k.jsx)(`div`,{role:`status`,className:O.found,children:N&&(0,k.jsx)(P,{order:N,justDone:I,busy:s,onRedeem:()=>void G(N)})})]})}function P({order:e,justDone:t,busy:r,onRedeem:i}){let a=A(),{money:o,moment:s}=f(),c=S(),{voucher:l,status:u}=e,d=e.usedAt===null?a[u]:a.usedAt(s(e.usedAt));return(0,k.jsxs)(`section`,{className:O.order,"aria-label":a.order,"data-order":e.number,"data-status":u,children:[(0,k.jsx)(`p`,{className:O.shop,children:l.shop.name}),(0,k.jsx)(`h2`,{children:l.title}),l.subTitle!==null&&(0,k.jsx)(`p`,{className:O.quiet,children:l.subTitle}),(0,k.jsxs)(`p`,{className:O.price,children:[a.worth(o(l.faceValue)),` `,(0,k.jsx)(`strong`,{children:o(e.payValue)})]}),(0,k.jsxs)(`p`,{className:O.number,children:[e.number,` `,(0,k.jsx)(`span`,{className:O.status,children:c(u)})]}),l.rules!==null&&(0,k.jsxs)(`div`,{className:O.rules,children:[(0,k.jsx)(`h3`,{children:a.rules}),(0,k.jsx)(`p`,{children:l.rules})]}),u===`PAID`?(0,k.jsx)(n,{wide:!0,busy:r,onClick:i,children:a.redeem}):t?(0,k.jsxs)(`p`,{className:O.done,"data-redeemed":e.number,children:[(0,k.jsx)(w,{"aria-hidden":`true`,size:26}),(0,k.jsxs)(`span`,{children:[(0,k.jsx)(`strong`,{children:a.done}),` `,a.next]})]}):(0,k.jsx)(`p`,{className:O.why,"data-refused":u,children:d})]})}export{j as Redeem};