import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{l as t,m as n,o as r,p as i,t as a}from"./Screen-DdURs_yY.js";import{t as o}from"./undo-2-DsnxVVeG.js";import{r as s,t as c}from"./errors-C_u5kzCD.js";import{A as l,D as u,c as d,h as f,j as p,m,y as h}from"./app-C_ToAT57.js";import{a as g,n as _}from"./preload-helper-Chrg9qMa.js";import{s as v,t as y}from"./document-bm9CNBvx.js";import{i as ee,n as b,r as te,t as x}from"./progress-BNLlWZHt.js";import{Lost as S}from"./Lost-DM6ZxyMe.js";import{t as C}from"./ShopLine-Hd9DRLaL.js";var w={name:`ban`,size:24,node:[[`circle`,{cx:`12`,cy:`12`,r:`10`,key:`1mglay`}],[`path`,{d:`M4.929 4.929 19.07 19.071`,key:`196cmz`}]]};w.node;var ne=i(w),T={name:`circle-check-big`,size:24,node:[[`path`,{d:`M21.801 10A10 10 0 1 1 17 3.335`,key:`yps3ct`}],[`path`,{d:`m9 11 3 3L22 4`,key:`1pflzl`}]],aliases:[`check-circle`]};T.node;var E=i(T),D={name:`circle-exclamation-point`,size:24,node:[[`circle`,{cx:`12`,cy:`12`,r:`10`,key:`1mglay`}],[`line`,{x1:`12`,x2:`12`,y1:`8`,y2:`12`,key:`1pkeuh`}],[`line`,{x1:`12`,x2:`12.01`,y1:`16`,y2:`16`,key:`4dfq90`}]],aliases:[`alert-circle`,`circle-alert`]};D.node;var O=i(D),k={name:`hourglass`,size:24,node:[[`path`,{d:`M5 22h14`,key:`ehvnwv`}],[`path`,{d:`M5 2h14`,key:`pdyrp9`}],[`path`,{d:`M17 22v-4.172a2 2 0 0 0-.586-1.414L12 12l-4.414 4.414A2 2 0 0 0 7 17.828V22`,key:`1d314k`}],[`path`,{d:`M7 2v4.172a2 2 0 0 0 .586 1.414L12 12l4.414-4.414A2 2 0 0 0 17 6.172V2`,key:`1vvvr6`}]]};k.node;var A=i(k),j={name:`loader-circle`,size:24,node:[[`path`,{d:`M21 12a9 9 0 1 1-6.219-8.56`,key:`13zald`}]],aliases:[`loader-2`]};j.node;var M=i(j),N={name:`ticket-check`,size:24,node:[[`path`,{d:`M2 9a3 3 0 0 1 0 6v2a2 2 0 0 0 2 2h16a2 2 0 0 0 2-2v-2a3 3 0 0 1 0-6V7a2 2 0 0 0-2-2H4a2 2 0 0 0-2 2Z`,key:`qn84l0`}],[`path`,{d:`m9 12 2 2 4-4`,key:`dzmm74`}]]};N.node;var P=i(N),F={name:`wallet`,size:24,node:[[`path`,{d:`M19 7V4a1 1 0 0 0-1-1H5a2 2 0 0 0 0 4h15a1 1 0 0 1 1 1v4h-3a2 2 0 0 0 0 4h3a1 1 0 0 0 1-1v-2a1 1 0 0 0-1-1`,key:`18etb6`}],[`path`,{d:`M3 5v14a2 2 0 0 0 2 2h15a1 1 0 0 0 1-1v-4`,key:`xoc0q4`}]]};F.node;var I=i(F),L=e(g(),1);function R(e){let[{data:t,error:n,fetching:r},i]=p({query:te,variables:{id:e}}),[a,o]=(0,L.useState)(null),s=a!==null&&x(a.status),[{data:l,error:u}]=v({query:ee,variables:{orderId:e},pause:s}),d=b(b(a,t?.order),l?.orderUpdates);return d!==a&&d?.status!==a?.status&&o(d),{state:d,voucher:t?.order?.voucher??null,lost:t?.order===null||n!==void 0&&c(n)===`BAD_USER_INPUT`,error:n,fetching:r,own:u===void 0||c(u)!==`BAD_USER_INPUT`,ask:()=>i({requestPolicy:`network-only`})}}function z(e){return`/${e.kind===`FlashVoucher`?`sales`:`vouchers`}/${e.id}`}var B=y(`c86e2089f0f31c7acdb8dfb35389f4762280de8daa11c0d05786b489d0b2fcea`,`mutation PayOrder($orderId: ID!, $method: PayMethod!) {
  payOrder(orderId: $orderId, method: $method) {
    order {
      ...OrderState
      __typename
    }
    userErrors {
      ...Refused
      __typename
    }
    __typename
  }
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
fragment Refused on UserError {
  code
  message
  field
  __typename
}`),V=y(`6c50fad2c1165ecda6b959a274a507ada34f5e3f87e0e9a46f53e035edfd6708`,`mutation CancelOrder($orderId: ID!) {
  cancelOrder(orderId: $orderId) {
    order {
      ...OrderState
      __typename
    }
    userErrors {
      ...Refused
      __typename
    }
    __typename
  }
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
fragment Refused on UserError {
  code
  message
  field
  __typename
}`),H=y(`d9da196345f8e3f4d763a7bd5fe6eb7978cdbe3e5bdc965168590d2eca82266a`,`mutation RefundOrder($orderId: ID!) {
  refundOrder(orderId: $orderId) {
    order {
      ...OrderState
      __typename
    }
    userErrors {
      ...Refused
      __typename
    }
    __typename
  }
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
fragment Refused on UserError {
  code
  message
  field
  __typename
}`),U={sure:`_sure_3hzy1_1`},W=_(),G=t({cancel:`Cancel order`,cancelTitle:`Cancel this order?`,cancelText:`Your piece goes back, and somebody else may get it.`,cancelYes:`Yes, cancel it`,refund:`Ask for a refund`,refundTitle:`Give it back?`,refundText:`You get your money back, and the number is worth nothing any more.`,refundYes:`Yes, refund it`,no:`Keep it`},{cancel:`取消订单`,cancelTitle:`取消这个订单？`,cancelText:`名额将释放，可能被别人买走。`,cancelYes:`确认取消`,refund:`申请退款`,refundTitle:`确定退款？`,refundText:`款项将退回，券码随即失效。`,refundYes:`确认退款`,no:`再想想`});function K({action:e,orderId:t,ask:n}){let i=G(),[a,o]=(0,L.useState)(!1),[s,c]=u(V),[l,d]=u(H),f=async()=>{let r=await(e===`cancel`?s({orderId:t}):l({orderId:t}));o(!1),r.ok||n()};return(0,W.jsxs)(W.Fragment,{children:[(0,W.jsx)(r,{kind:`plain`,onClick:()=>o(!0),children:i[e]}),a&&(0,W.jsx)(h,{title:i[`${e}Title`],onClose:()=>o(!1),children:(0,W.jsxs)(`div`,{className:U.sure,children:[(0,W.jsx)(`p`,{children:i[`${e}Text`]}),(0,W.jsx)(r,{wide:!0,kind:`danger`,busy:c||d,onClick:()=>void f(),children:i[`${e}Yes`]}),(0,W.jsx)(r,{wide:!0,kind:`quiet`,onClick:()=>o(!1),children:i.no})]})})]})}var q={pay:`_pay_18gyk_1`,left:`_left_18gyk_8`,methods:`_methods_18gyk_18`,waiting:`_waiting_18gyk_50`},J=t({within:`Pay within`,how:`How do you want to pay?`,BALANCE:`Balance`,ALIPAY:`Alipay`,WECHAT:`WeChat Pay`,pay:e=>`Pay ${e}`,waiting:`Your payment is under way: this page tells you when it is through.`},{within:`支付剩余`,how:`选择支付方式`,BALANCE:`余额`,ALIPAY:`支付宝`,WECHAT:`微信支付`,pay:e=>`支付 ${e}`,waiting:`支付处理中，到账后这里会更新。`}),Y=[`BALANCE`,`ALIPAY`,`WECHAT`];function X({order:e,ask:t}){let n=J(),{money:i}=l(),[a,o]=(0,L.useState)(`BALANCE`),[s,c]=(0,L.useState)(!1),[f,p]=u(B),m=async()=>{let n=await f({orderId:e.id,method:a});c(n.ok&&n.value.order?.status===`UNPAID`),n.ok||t()};return(0,W.jsxs)(`div`,{className:q.pay,children:[e.payBefore!==null&&(0,W.jsx)(`div`,{className:q.left,children:(0,W.jsx)(d,{to:e.payBefore,label:n.within})}),(0,W.jsxs)(`fieldset`,{children:[(0,W.jsx)(`legend`,{children:n.how}),(0,W.jsx)(`div`,{className:q.methods,children:Y.map(e=>(0,W.jsxs)(`label`,{children:[(0,W.jsx)(`input`,{type:`radio`,name:`method`,value:e,checked:a===e,onChange:()=>o(e)}),n[e]]},e))})]}),(0,W.jsx)(`div`,{role:`status`,children:s&&(0,W.jsx)(`p`,{className:q.waiting,children:n.waiting})}),(0,W.jsx)(r,{wide:!0,busy:p,onClick:()=>void m(),children:n.pay(i(e.payValue))}),(0,W.jsx)(K,{action:`cancel`,orderId:e.id,ask:t})]})}var Z={layout:`_layout_13lix_1`,side:`_side_13lix_6`,state:`_state_13lix_17`,told:`_told_13lix_29`,icon:`_icon_13lix_35`,turn:`_turn_13lix_1`,title:`_title_13lix_68`,text:`_text_13lix_74`,digits:`_digits_13lix_78`,again:`_again_13lix_95`,card:`_card_13lix_102`,rules:`_rules_13lix_111`,details:`_details_13lix_117`},Q=t({title:`Order`,QUEUED:`We have your order; it is being confirmed`,queuedText:`Stay, go or come back: it goes on by itself, and you need not order again.`,UNPAID:`Your piece is yours: please pay`,unpaidText:`Nobody else can get it meanwhile.`,PAID:`Paid and ready to use`,paidText:`Show this number in the shop.`,USED:`Used`,usedText:`We hope you enjoyed it.`,CANCELLED:`Cancelled`,cancelledText:`Nothing was paid.`,REFUNDING:`Your money is on its way back`,refundingText:`This page tells you when it is there.`,REFUNDED:`Your money is back`,refundedText:e=>`${e} went back to where it came from.`,FAILED:`This did not become an order`,failedText:`Nothing was paid.`,again:`To the voucher`,number:`Number`,what:`What you bought`,where:`Where`,details:`Details`,rules:`Rules`,price:`Price`,method:`Paid with`,BALANCE:`Balance`,ALIPAY:`Alipay`,WECHAT:`WeChat Pay`,createdAt:`Ordered`,paidAt:`Paid`,usedAt:`Used`,cancelledAt:`Cancelled`,refundedAt:`Refunded`},{title:`订单详情`,QUEUED:`订单已收到，正在确认`,queuedText:`可以离开或稍后再来，无需重复下单。`,UNPAID:`名额已为你保留，请支付`,unpaidText:`支付期间不会被别人抢走。`,PAID:`已支付，待使用`,paidText:`到店出示此券码。`,USED:`已使用`,usedText:`希望你满意。`,CANCELLED:`已取消`,cancelledText:`未扣款。`,REFUNDING:`退款中`,refundingText:`到账后这里会更新。`,REFUNDED:`已退款`,refundedText:e=>`${e} 已原路退回。`,FAILED:`下单未成功`,failedText:`未扣款。`,again:`查看优惠券`,number:`券码`,what:`购买内容`,where:`适用门店`,details:`订单信息`,rules:`使用规则`,price:`金额`,method:`支付方式`,BALANCE:`余额`,ALIPAY:`支付宝`,WECHAT:`微信支付`,createdAt:`下单时间`,paidAt:`支付时间`,usedAt:`使用时间`,cancelledAt:`取消时间`,refundedAt:`退款时间`}),re={QUEUED:M,UNPAID:I,PAID:P,USED:E,CANCELLED:ne,REFUNDING:A,REFUNDED:o,FAILED:O};function $({id:e}){let t=Q(),{state:r,voucher:i,lost:o,error:s,own:c,ask:l}=R(e);return r===null||i===null?o?(0,W.jsx)(S,{}):(0,W.jsx)(a,{title:t.title,up:`/orders`,children:s?(0,W.jsx)(m,{error:s,again:l}):(0,W.jsx)(f,{shape:`card`})}):(0,W.jsx)(a,{title:t.title,up:`/orders`,children:(0,W.jsxs)(`div`,{className:Z.layout,"data-order":e,children:[(0,W.jsx)(ie,{order:r,voucher:i,own:c,ask:l}),(0,W.jsxs)(`div`,{className:Z.side,children:[(0,W.jsxs)(`section`,{"aria-labelledby":`what`,children:[(0,W.jsx)(`h2`,{id:`what`,children:t.what}),(0,W.jsxs)(`div`,{className:Z.card,children:[(0,W.jsx)(`h3`,{children:(0,W.jsx)(n,{href:z(i),children:i.title})}),i.subTitle!==null&&(0,W.jsx)(`p`,{children:i.subTitle}),i.rules!==null&&(0,W.jsxs)(`p`,{className:Z.rules,children:[(0,W.jsxs)(`span`,{className:`unseen`,children:[t.rules,`: `]}),i.rules]})]})]}),(0,W.jsxs)(`section`,{"aria-labelledby":`where`,children:[(0,W.jsx)(`h2`,{id:`where`,children:t.where}),(0,W.jsx)(C,{shop:i.shop})]}),(0,W.jsx)(se,{order:r})]})]})})}function ie({order:e,voucher:t,own:r,ask:i}){let a=Q(),{money:o}=l(),c=s(),{status:u,failure:d}=e,f=re[u],p={QUEUED:a.queuedText,UNPAID:a.unpaidText,PAID:a.paidText,USED:a.usedText,CANCELLED:a.cancelledText,REFUNDING:a.refundingText,REFUNDED:a.refundedText(o(e.payValue)),FAILED:d===null?a.failedText:c(d)},m=null;return u===`UNPAID`&&r&&(m=(0,W.jsx)(X,{order:e,ask:i})),u===`PAID`&&(m=(0,W.jsxs)(W.Fragment,{children:[(0,W.jsx)(ae,{number:e.number}),r&&(0,W.jsx)(K,{action:`refund`,orderId:e.id,ask:i})]})),(u===`FAILED`||u===`CANCELLED`)&&(m=(0,W.jsx)(n,{href:z(t),className:Z.again,children:a.again})),(0,W.jsxs)(`div`,{className:Z.state,"data-status":u,"data-failure":d?.code,children:[(0,W.jsxs)(`div`,{role:`status`,className:Z.told,children:[(0,W.jsx)(`span`,{className:Z.icon,children:(0,W.jsx)(f,{"aria-hidden":`true`,size:32})}),(0,W.jsx)(`p`,{className:Z.title,children:a[u]}),(0,W.jsx)(`p`,{className:Z.text,children:p[u]})]}),m]})}function ae({number:e}){let t=Q();return(0,W.jsxs)(`p`,{className:Z.digits,"data-number":e,children:[(0,W.jsxs)(`span`,{className:`unseen`,children:[t.number,`: `]}),(e.match(/.{1,4}/g)??[]).map((e,t)=>(0,W.jsxs)(`span`,{children:[e,` `]},t))]})}var oe=[`createdAt`,`paidAt`,`usedAt`,`cancelledAt`,`refundedAt`];function se({order:e}){let t=Q(),{money:n,moment:r}=l();return(0,W.jsxs)(`section`,{"aria-labelledby":`details`,children:[(0,W.jsx)(`h2`,{id:`details`,children:t.details}),(0,W.jsxs)(`dl`,{className:`${Z.card} ${Z.details}`,children:[(0,W.jsxs)(`div`,{children:[(0,W.jsx)(`dt`,{children:t.number}),(0,W.jsx)(`dd`,{children:e.number})]}),(0,W.jsxs)(`div`,{children:[(0,W.jsx)(`dt`,{children:t.price}),(0,W.jsx)(`dd`,{children:n(e.payValue)})]}),e.payMethod!==null&&(0,W.jsxs)(`div`,{children:[(0,W.jsx)(`dt`,{children:t.method}),(0,W.jsx)(`dd`,{children:t[e.payMethod]})]}),oe.map(n=>{let i=e[n];return i===null?null:(0,W.jsxs)(`div`,{children:[(0,W.jsx)(`dt`,{children:t[n]}),(0,W.jsx)(`dd`,{children:(0,W.jsx)(`time`,{dateTime:i,children:r(i)})})]},n)})]})]})}export{$ as Order};