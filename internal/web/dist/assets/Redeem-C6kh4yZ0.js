import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{i as t,s as n,t as r}from"./Button-BJNnZ8XN.js";import{t as i}from"./scan-line-C0xRTt0S.js";import{i as a,l as o}from"./preload-helper-DXbBgPnf.js";import{i as s,t as c}from"./document-D_a4HVPm.js";import{n as l,r as u}from"./errors-CWz5aWUu.js";import{t as d}from"./useApiMutation-fQMMxfHh.js";import{r as f,t as p}from"./clock-BsYt33P9.js";import{t as m}from"./outcomeUnknown-DcrMeS2e.js";import{t as h}from"./Form-DKVLoJqR.js";import{t as g}from"./number-DXUy5JpJ.js";import{t as _}from"./format-scrNEY_u.js";import{c as v}from"./useApiQuery-DhNs3sUT.js";import{t as y}from"./statusTexts-B1hAzf08.js";import{D as b,d as x}from"./app-B0ZPWHu3.js";import{n as S}from"./toast--XnaLTgW.js";import{t as C}from"./RequireRole-6NQrdQ87.js";var w={name:`circle-check`,size:24,node:[[`circle`,{cx:`12`,cy:`12`,r:`10`,key:`1mglay`}],[`path`,{d:`m16 9-5.5 5.5L8 12`,key:`xofnsj`}]],aliases:[`check-circle-2`]};w.node;var T=n(w),E=e(o(),1),D=c(`9742747f0a676d92c43d15c008fb033e7f6ad8fc8962fb66c9bd900bf4715f2a`,`query RedeemableOrder($number: String!) {
  orderByNumber(number: $number) {
    ...RedeemableOrder
    __typename
  }
}
fragment RedeemableOrder on Order {
  ...MerchantOrder
  cancelledAt
  refundedAt
  terms {
    subTitle
    rules
    faceValue
    __typename
  }
  voucher {
    id
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
  redemptionDisputedAt
  terms {
    title
    __typename
  }
  __typename
}`),O=c(`5d4e7ff2b2ec0ab9dafb34002c6ab554598ec591f00e378006618860bc3c1b7b`,`mutation RedeemOrder($id: ID!) {
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
  terms {
    subTitle
    rules
    faceValue
    __typename
  }
  voucher {
    id
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
  redemptionDisputedAt
  terms {
    title
    __typename
  }
  __typename
}
fragment Refused on UserError {
  code
  message
  field
  retryAfterSeconds
  __typename
}`),k={desk:`_desk_1fsk1_1`,order:`_order_1fsk1_8`,shop:`_shop_1fsk1_17`,quiet:`_quiet_1fsk1_22`,price:`_price_1fsk1_23`,number:`_number_1fsk1_32`,status:`_status_1fsk1_42`,rules:`_rules_1fsk1_46`,done:`_done_1fsk1_58`,why:`_why_1fsk1_59`},A=a(),j=t({title:`Redeem voucher`,number:`Voucher code`,numberHint:`Shown on the customer’s order page.`,find:`Look up`,notFound:`No order in your shops has this code. Check it and try again.`,digits:`Voucher codes have digits only.`,order:`Order`,value:e=>`${e} value, paid`,rules:`Terms of use`,redeem:`Redeem`,done:`Redeemed.`,next:`Enter the next code.`,doneFor:e=>`Code ${e} redeemed.`,unknownFor:e=>`We couldn’t confirm that code ${e} was redeemed. Look it up again.`,QUEUED:`This order is still being confirmed. Look it up again in a moment.`,UNPAID:`Not paid yet. Ask the customer to pay first.`,PAID:``,USED:``,usedAt:e=>`Already redeemed on ${e}.`,CANCELLED:`This order was cancelled.`,REFUNDING:`This order is being refunded.`,REFUNDED:`This order was refunded.`,FAILED:`This order failed. The customer wasn’t charged.`},{title:`核销代金券`,number:`券码`,numberHint:`顾客可在订单详情中查看券码。`,find:`查询`,notFound:`你的店铺没有此券码，请核对后重试。`,digits:`券码只包含数字。`,order:`订单`,value:e=>`面值 ${e}，实付`,rules:`使用规则`,redeem:`核销`,done:`核销成功。`,next:`请输入下一个券码。`,doneFor:e=>`券码 ${e} 已核销。`,unknownFor:e=>`无法确认券码 ${e} 是否已核销，请重新查询。`,QUEUED:`订单确认中，请稍后重新查询。`,UNPAID:`订单尚未支付，请顾客先付款。`,PAID:``,USED:``,usedAt:e=>`已于 ${e} 核销。`,CANCELLED:`订单已取消。`,REFUNDING:`订单退款中。`,REFUNDED:`订单已退款。`,FAILED:`下单失败，顾客未被扣款。`});function M(){let e=j();return(0,A.jsx)(x,{title:e.title,backTo:`/merchant`,children:(0,A.jsx)(C,{role:`MERCHANT`,children:(0,A.jsx)(P,{})})})}var N=5e3;function P(){let e=j(),t=s(),n=l(),a=u();f();let[o,c]=d(O,{toastErrors:!1}),_=(0,E.useRef)(null),[y,x]=(0,E.useState)(``),[C,w]=(0,E.useState)(!1),[T,M]=(0,E.useState)(),[P,I]=(0,E.useState)(null),[L,R]=(0,E.useState)(!1),z=(0,E.useRef)(0),B=(0,E.useRef)(null),V=()=>_.current?.querySelector(`input`)?.focus(),H=e=>t.query(D,{number:e},{requestPolicy:`network-only`}).toPromise(),U=(e,t=!1)=>{let{id:n,since:r=1/0}=B.current??{},i=e?.usedAt?new Date(e.usedAt).getTime():-1/0,a=e?.status===`USED`&&e.id===n&&i>r-N;I(e),R(t||a),e?.status!==`PAID`&&e?.id===n&&(B.current=null),(t||a)&&(x(``),V())},W=async e=>{let t=z.current,{data:n}=await H(e);t===z.current&&n?.orderByNumber&&U(n.orderByNumber)};v(()=>{P!==null&&P.id===B.current?.id&&W(P.number)});let G=async()=>{let t=++z.current,r=g(y);if(w(!1),R(!1),I(null),r===null){M(e.digits),V();return}M(void 0),w(!0);let{data:i,error:a}=await H(r);if(t!==z.current)return;if(w(!1),a){S(n(a));return}let o=i?.orderByNumber??null;U(o),o===null&&(M(e.notFound),V())},K=async({id:t,number:n})=>{let r=z.current,i=B.current?.id===t?B.current.since:p(),s=await o({id:t}),c=!s.ok&&m(s.error),[l]=s.ok?[]:s.userErrors;if(r!==z.current){s.ok?S(e.doneFor(n)):c?S(e.unknownFor(n)):l&&S(`${n}: ${a(l)}`);return}c&&(B.current={id:t,since:i});let u=s.value?.order;u?U(u,s.ok):(l&&S(a(l)),await W(n))};return(0,A.jsxs)(`div`,{className:k.desk,children:[(0,A.jsx)(`div`,{ref:_,children:(0,A.jsxs)(h,{label:e.title,userErrors:[],fields:[],onSubmit:()=>void G(),children:[(0,A.jsx)(b,{label:e.number,hint:e.numberHint,error:T,inputMode:`numeric`,autoComplete:`off`,enterKeyHint:`search`,required:!0,value:y,onChange:e=>{x(e.target.value),M(void 0)}}),(0,A.jsxs)(r,{type:`submit`,wide:!0,kind:P?.status===`PAID`?`quiet`:`primary`,busy:C,children:[!C&&(0,A.jsx)(i,{"aria-hidden":`true`,size:20}),` `,e.find]})]})}),(0,A.jsx)(`div`,{role:`status`,className:k.found,children:P&&(0,A.jsx)(F,{order:P,redeemedHere:L,busy:c,onRedeem:()=>void K(P)})})]})}function F({order:e,redeemedHere:t,busy:n,onRedeem:i}){let a=j(),{money:o,moment:s}=_(),c=y(),{voucher:l,terms:u,status:d}=e,f=e.usedAt===null?a[d]:a.usedAt(s(e.usedAt));return(0,A.jsxs)(`section`,{className:k.order,"aria-label":a.order,"data-order":e.number,"data-status":d,children:[(0,A.jsx)(`p`,{className:k.shop,dir:`auto`,children:l.shop.name}),(0,A.jsx)(`h2`,{dir:`auto`,children:u.title}),u.subTitle!==null&&(0,A.jsx)(`p`,{className:k.quiet,dir:`auto`,children:u.subTitle}),(0,A.jsxs)(`p`,{className:k.price,children:[a.value(o(u.faceValue)),` `,(0,A.jsx)(`strong`,{children:o(e.payValue)})]}),(0,A.jsxs)(`p`,{className:k.number,children:[e.number,` `,(0,A.jsx)(`span`,{className:k.status,children:c[d]})]}),u.rules!==null&&(0,A.jsxs)(`div`,{className:k.rules,children:[(0,A.jsx)(`h3`,{children:a.rules}),(0,A.jsx)(`p`,{dir:`auto`,children:u.rules})]}),d===`PAID`?(0,A.jsx)(r,{wide:!0,busy:n,onClick:i,children:a.redeem}):t?(0,A.jsxs)(`p`,{className:k.done,"data-redeemed":e.number,children:[(0,A.jsx)(T,{"aria-hidden":`true`,size:26}),(0,A.jsxs)(`span`,{children:[(0,A.jsx)(`strong`,{children:a.done}),` `,a.next]})]}):(0,A.jsx)(`p`,{className:k.why,"data-refused":d,children:f})]})}export{M as Redeem};