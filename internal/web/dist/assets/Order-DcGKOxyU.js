import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{_ as t,m as n,s as r,t as i,u as a}from"./Screen-Dmve7E8x.js";import{t as o}from"./undo-2-D4tMbGOj.js";import{r as s,t as c}from"./errors-g7yorUdi.js";import{P as l,_ as u,c as d,g as f,k as p,l as m,x as h}from"./app-THnl5AKj.js";import{i as g,l as _}from"./preload-helper-DXbBgPnf.js";import{t as v}from"./useAsk-Bqz0_vO1.js";import{i as y,n as b,r as ee,t as x}from"./progress-BCbYehb5.js";import{Lost as S}from"./Lost-DCHxX_hG.js";import{t as C}from"./ShopLine-Cht_obSJ.js";import{t as te}from"./clock-BsYt33P9.js";import{n as w}from"./toast--XnaLTgW.js";import{t as T}from"./document-D_a4HVPm.js";var E={name:`ban`,size:24,node:[[`circle`,{cx:`12`,cy:`12`,r:`10`,key:`1mglay`}],[`path`,{d:`M4.929 4.929 19.07 19.071`,key:`196cmz`}]]};E.node;var D=n(E),O={name:`circle-check-big`,size:24,node:[[`path`,{d:`M21.801 10A10 10 0 1 1 17 3.335`,key:`yps3ct`}],[`path`,{d:`m9 11 3 3L22 4`,key:`1pflzl`}]],aliases:[`check-circle`]};O.node;var k=n(O),A={name:`circle-exclamation-point`,size:24,node:[[`circle`,{cx:`12`,cy:`12`,r:`10`,key:`1mglay`}],[`line`,{x1:`12`,x2:`12`,y1:`8`,y2:`12`,key:`1pkeuh`}],[`line`,{x1:`12`,x2:`12.01`,y1:`16`,y2:`16`,key:`4dfq90`}]],aliases:[`alert-circle`,`circle-alert`]};A.node;var j=n(A),M={name:`hourglass`,size:24,node:[[`path`,{d:`M5 22h14`,key:`ehvnwv`}],[`path`,{d:`M5 2h14`,key:`pdyrp9`}],[`path`,{d:`M17 22v-4.172a2 2 0 0 0-.586-1.414L12 12l-4.414 4.414A2 2 0 0 0 7 17.828V22`,key:`1d314k`}],[`path`,{d:`M7 2v4.172a2 2 0 0 0 .586 1.414L12 12l4.414-4.414A2 2 0 0 0 17 6.172V2`,key:`1vvvr6`}]]};M.node;var N=n(M),P={name:`loader-circle`,size:24,node:[[`path`,{d:`M21 12a9 9 0 1 1-6.219-8.56`,key:`13zald`}]],aliases:[`loader-2`]};P.node;var F=n(P),I={name:`ticket-check`,size:24,node:[[`path`,{d:`M2 9a3 3 0 0 1 0 6v2a2 2 0 0 0 2 2h16a2 2 0 0 0 2-2v-2a3 3 0 0 1 0-6V7a2 2 0 0 0-2-2H4a2 2 0 0 0-2 2Z`,key:`qn84l0`}],[`path`,{d:`m9 12 2 2 4-4`,key:`dzmm74`}]]};I.node;var L=n(I),R={name:`wallet`,size:24,node:[[`path`,{d:`M19 7V4a1 1 0 0 0-1-1H5a2 2 0 0 0 0 4h15a1 1 0 0 1 1 1v4h-3a2 2 0 0 0 0 4h3a1 1 0 0 0 1-1v-2a1 1 0 0 0-1-1`,key:`18etb6`}],[`path`,{d:`M3 5v14a2 2 0 0 0 2 2h15a1 1 0 0 0 1-1v-4`,key:`xoc0q4`}]]};R.node;var z=n(R),B=e(_(),1),V=4e3;function H(e){let[{data:t,error:n,fetching:r},i]=v({query:ee,variables:{id:e}}),[a,o]=(0,B.useState)(null),s=a!==null&&x(a.status),{data:l,error:u}=d({query:y,variables:{orderId:e},pause:s}),f=b(b(a,t?.order),l?.orderUpdates);f!==a&&f?.status!==a?.status&&o(f);let p=f?.status===`QUEUED`;return(0,B.useEffect)(()=>{if(!p)return;let e=setInterval(()=>i({requestPolicy:`network-only`}),V);return()=>clearInterval(e)},[p,i]),{state:f,voucher:t?.order?.voucher??null,lost:t?.order===null||n!==void 0&&c(n)===`BAD_USER_INPUT`,error:n,fetching:r,own:u===void 0||c(u)!==`BAD_USER_INPUT`,ask:()=>i({requestPolicy:`network-only`})}}function U(e){return`/${e.kind===`FlashVoucher`?`sales`:`vouchers`}/${e.id}`}var W=T(`c86e2089f0f31c7acdb8dfb35389f4762280de8daa11c0d05786b489d0b2fcea`,`mutation PayOrder($orderId: ID!, $method: PayMethod!) {
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
}`),G=T(`6c50fad2c1165ecda6b959a274a507ada34f5e3f87e0e9a46f53e035edfd6708`,`mutation CancelOrder($orderId: ID!) {
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
}`),K=T(`d9da196345f8e3f4d763a7bd5fe6eb7978cdbe3e5bdc965168590d2eca82266a`,`mutation RefundOrder($orderId: ID!) {
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
}`),q={sure:`_sure_3hzy1_1`},J=g(),Y=a({cancel:`Cancel order`,cancelTitle:`Cancel this order?`,cancelText:`Your piece goes back, and somebody else may get it.`,cancelYes:`Yes, cancel it`,refund:`Ask for a refund`,refundTitle:`Give it back?`,refundText:`You get your money back, and the number is worth nothing any more.`,refundYes:`Yes, refund it`,no:`Keep it`},{cancel:`取消订单`,cancelTitle:`取消这个订单？`,cancelText:`名额将释放，可能被别人买走。`,cancelYes:`确认取消`,refund:`申请退款`,refundTitle:`确定退款？`,refundText:`款项将退回，券码随即失效。`,refundYes:`确认退款`,no:`再想想`});function X({action:e,orderId:t,ask:n}){let i=Y(),[a,o]=(0,B.useState)(!1),[s,c]=p(G),[l,u]=p(K),d=async()=>{let r=await(e===`cancel`?s({orderId:t}):l({orderId:t}));o(!1),r.ok||n()};return(0,J.jsxs)(J.Fragment,{children:[(0,J.jsx)(r,{kind:`plain`,onClick:()=>o(!0),children:i[e]}),a&&(0,J.jsx)(h,{title:i[`${e}Title`],onClose:()=>o(!1),children:(0,J.jsxs)(`div`,{className:q.sure,children:[(0,J.jsx)(`p`,{children:i[`${e}Text`]}),(0,J.jsx)(r,{wide:!0,kind:`danger`,busy:c||u,onClick:()=>void d(),children:i[`${e}Yes`]}),(0,J.jsx)(r,{wide:!0,kind:`quiet`,onClick:()=>o(!1),children:i.no})]})})]})}var Z={pay:`_pay_g9ojy_1`,left:`_left_g9ojy_8`,methods:`_methods_g9ojy_18`,waiting:`_waiting_g9ojy_50`},ne=a({within:`Pay within`,how:`How do you want to pay?`,BALANCE:`Balance`,ALIPAY:`Alipay`,WECHAT:`WeChat Pay`,pay:e=>`Pay ${e}`,waiting:`Your payment is under way: this page tells you when it is through.`,refused:`The payment was refused, and nothing was paid. Try again, or pay another way.`},{within:`支付剩余`,how:`选择支付方式`,BALANCE:`余额`,ALIPAY:`支付宝`,WECHAT:`微信支付`,pay:e=>`支付 ${e}`,waiting:`支付处理中，到账后这里会更新。`,refused:`支付未成功，未扣款。请重试或更换支付方式。`}),re=[`BALANCE`,`ALIPAY`,`WECHAT`];function ie({order:e,ask:t}){let n=ne(),{money:i}=l(),[a,o]=(0,B.useState)(`BALANCE`),[c,u]=(0,B.useState)(!1),[d,f]=p(W,{say:!1}),h=s(),g=async()=>{let r=await d({orderId:e.id,method:a});if(u(r.ok&&r.value.order?.status===`UNPAID`),r.ok)return;let{status:i,payBefore:o=null}=r.value?.order??{},s=i===`UNPAID`&&(o===null||new Date(o).getTime()>te()),[c]=r.refusals;c&&w(c.code===`ORDER_NOT_PAYABLE`&&s?n.refused:h(c)),t()};return(0,J.jsxs)(`div`,{className:Z.pay,children:[e.payBefore!==null&&(0,J.jsx)(`div`,{className:Z.left,children:(0,J.jsx)(m,{to:e.payBefore,label:n.within})}),(0,J.jsxs)(`fieldset`,{children:[(0,J.jsx)(`legend`,{children:n.how}),(0,J.jsx)(`div`,{className:Z.methods,children:re.map(e=>(0,J.jsxs)(`label`,{"data-chosen":a===e||void 0,children:[(0,J.jsx)(`input`,{type:`radio`,name:`method`,value:e,checked:a===e,onChange:()=>o(e)}),n[e]]},e))})]}),(0,J.jsx)(`div`,{role:`status`,children:c&&(0,J.jsx)(`p`,{className:Z.waiting,children:n.waiting})}),(0,J.jsx)(r,{wide:!0,busy:f,onClick:()=>void g(),children:n.pay(i(e.payValue))}),(0,J.jsx)(X,{action:`cancel`,orderId:e.id,ask:t})]})}var Q={layout:`_layout_13lix_1`,side:`_side_13lix_6`,state:`_state_13lix_17`,told:`_told_13lix_29`,icon:`_icon_13lix_35`,turn:`_turn_13lix_1`,title:`_title_13lix_68`,text:`_text_13lix_74`,digits:`_digits_13lix_78`,again:`_again_13lix_95`,card:`_card_13lix_102`,rules:`_rules_13lix_111`,details:`_details_13lix_117`},$=a({title:`Order`,QUEUED:`We have your order; it is being confirmed`,queuedText:`Stay, go or come back: it goes on by itself, and you need not order again.`,UNPAID:`Your piece is yours: please pay`,unpaidText:`Nobody else can get it meanwhile.`,PAID:`Paid and ready to use`,paidText:`Show this number in the shop.`,USED:`Used`,usedText:`We hope you enjoyed it.`,CANCELLED:`Cancelled`,cancelledText:`Nothing was paid.`,REFUNDING:`Your money is on its way back`,refundingText:`This page tells you when it is there.`,REFUNDED:`Your money is back`,refundedText:e=>`${e} went back to where it came from.`,FAILED:`This did not become an order`,failedText:`Nothing was paid.`,again:`To the voucher`,number:`Number`,what:`What you bought`,where:`Where`,details:`Details`,rules:`Rules`,price:`Price`,method:`Paid with`,BALANCE:`Balance`,ALIPAY:`Alipay`,WECHAT:`WeChat Pay`,createdAt:`Ordered`,paidAt:`Paid`,usedAt:`Used`,cancelledAt:`Cancelled`,refundedAt:`Refunded`},{title:`订单详情`,QUEUED:`订单已收到，正在确认`,queuedText:`可以离开或稍后再来，无需重复下单。`,UNPAID:`名额已为你保留，请支付`,unpaidText:`支付期间不会被别人抢走。`,PAID:`已支付，待使用`,paidText:`到店出示此券码。`,USED:`已使用`,usedText:`希望你满意。`,CANCELLED:`已取消`,cancelledText:`未扣款。`,REFUNDING:`退款中`,refundingText:`到账后这里会更新。`,REFUNDED:`已退款`,refundedText:e=>`${e} 已原路退回。`,FAILED:`下单未成功`,failedText:`未扣款。`,again:`查看优惠券`,number:`券码`,what:`购买内容`,where:`适用门店`,details:`订单信息`,rules:`使用规则`,price:`金额`,method:`支付方式`,BALANCE:`余额`,ALIPAY:`支付宝`,WECHAT:`微信支付`,createdAt:`下单时间`,paidAt:`支付时间`,usedAt:`使用时间`,cancelledAt:`取消时间`,refundedAt:`退款时间`}),ae={QUEUED:F,UNPAID:z,PAID:L,USED:k,CANCELLED:D,REFUNDING:N,REFUNDED:o,FAILED:j};function oe({id:e}){let n=$(),{state:r,voucher:a,lost:o,error:s,own:c,ask:l}=H(e);return r===null||a===null?o?(0,J.jsx)(S,{}):(0,J.jsx)(i,{title:n.title,up:`/orders`,children:s?(0,J.jsx)(f,{error:s,again:l}):(0,J.jsx)(u,{shape:`card`})}):(0,J.jsx)(i,{title:n.title,up:`/orders`,children:(0,J.jsxs)(`div`,{className:Q.layout,"data-order":e,children:[(0,J.jsx)(se,{order:r,voucher:a,own:c,ask:l}),(0,J.jsxs)(`div`,{className:Q.side,children:[(0,J.jsxs)(`section`,{"aria-labelledby":`what`,children:[(0,J.jsx)(`h2`,{id:`what`,children:n.what}),(0,J.jsxs)(`div`,{className:Q.card,children:[(0,J.jsx)(`h3`,{dir:`auto`,children:(0,J.jsx)(t,{href:U(a),children:a.title})}),a.subTitle!==null&&(0,J.jsx)(`p`,{dir:`auto`,children:a.subTitle}),a.rules!==null&&(0,J.jsxs)(`p`,{className:Q.rules,children:[(0,J.jsxs)(`span`,{className:`unseen`,children:[n.rules,`: `]}),(0,J.jsx)(`bdi`,{children:a.rules})]})]})]}),(0,J.jsxs)(`section`,{"aria-labelledby":`where`,children:[(0,J.jsx)(`h2`,{id:`where`,children:n.where}),(0,J.jsx)(C,{shop:a.shop})]}),(0,J.jsx)(ue,{order:r})]})]})})}function se({order:e,voucher:n,own:r,ask:i}){let a=$(),{money:o}=l(),c=s(),{status:u,failure:d}=e,f=ae[u],p={QUEUED:a.queuedText,UNPAID:a.unpaidText,PAID:a.paidText,USED:a.usedText,CANCELLED:a.cancelledText,REFUNDING:a.refundingText,REFUNDED:a.refundedText(o(e.payValue)),FAILED:d===null?a.failedText:c(d)},m=null;return u===`UNPAID`&&r&&(m=(0,J.jsx)(ie,{order:e,ask:i})),u===`PAID`&&(m=(0,J.jsxs)(J.Fragment,{children:[(0,J.jsx)(ce,{number:e.number}),r&&(0,J.jsx)(X,{action:`refund`,orderId:e.id,ask:i})]})),(u===`FAILED`||u===`CANCELLED`)&&(m=(0,J.jsx)(t,{href:U(n),className:Q.again,children:a.again})),(0,J.jsxs)(`div`,{className:Q.state,"data-status":u,"data-failure":d?.code,children:[(0,J.jsxs)(`div`,{role:`status`,className:Q.told,children:[(0,J.jsx)(`span`,{className:Q.icon,children:(0,J.jsx)(f,{"aria-hidden":`true`,size:32})}),(0,J.jsx)(`p`,{className:Q.title,children:a[u]}),(0,J.jsx)(`p`,{className:Q.text,children:p[u]})]}),m]})}function ce({number:e}){let t=$();return(0,J.jsxs)(`p`,{className:Q.digits,"data-number":e,children:[(0,J.jsxs)(`span`,{className:`unseen`,children:[t.number,`: `]}),(e.match(/.{1,4}/g)??[]).map((e,t)=>(0,J.jsxs)(`span`,{children:[e,` `]},t))]})}var le=[`createdAt`,`paidAt`,`usedAt`,`cancelledAt`,`refundedAt`];function ue({order:e}){let t=$(),{money:n,moment:r}=l();return(0,J.jsxs)(`section`,{"aria-labelledby":`details`,children:[(0,J.jsx)(`h2`,{id:`details`,children:t.details}),(0,J.jsxs)(`dl`,{className:`${Q.card} ${Q.details}`,children:[(0,J.jsxs)(`div`,{children:[(0,J.jsx)(`dt`,{children:t.number}),(0,J.jsx)(`dd`,{children:e.number})]}),(0,J.jsxs)(`div`,{children:[(0,J.jsx)(`dt`,{children:t.price}),(0,J.jsx)(`dd`,{children:n(e.payValue)})]}),e.payMethod!==null&&(0,J.jsxs)(`div`,{children:[(0,J.jsx)(`dt`,{children:t.method}),(0,J.jsx)(`dd`,{children:t[e.payMethod]})]}),le.map(n=>{let i=e[n];return i===null?null:(0,J.jsxs)(`div`,{children:[(0,J.jsx)(`dt`,{children:t[n]}),(0,J.jsx)(`dd`,{children:(0,J.jsx)(`time`,{dateTime:i,children:r(i)})})]},n)})]})]})}export{oe as Order};