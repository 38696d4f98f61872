import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{i as t,s as n,t as r,u as i}from"./Button-BJNnZ8XN.js";import{t as a}from"./undo-2-uHHlo1OO.js";import{r as o,t as s}from"./errors-CWz5aWUu.js";import{t as c}from"./clock-BsYt33P9.js";import{t as l}from"./format-scrNEY_u.js";import{i as u,l as d}from"./preload-helper-DXbBgPnf.js";import{t as f}from"./useApiQuery-DhNs3sUT.js";import{A as p,E as m,T as h,d as g,l as _,u as v}from"./app-B0ZPWHu3.js";import{i as y,n as b,r as ee,t as te}from"./progress-DliLzEBc.js";import{NotFound as x}from"./NotFound-D72cODaU.js";import{t as S}from"./ShopRow-CET_LTG1.js";import{t as C}from"./useApiMutation-fQMMxfHh.js";import{n as ne}from"./toast--XnaLTgW.js";import{t as w}from"./document-D_a4HVPm.js";var T={name:`ban`,size:24,node:[[`circle`,{cx:`12`,cy:`12`,r:`10`,key:`1mglay`}],[`path`,{d:`M4.929 4.929 19.07 19.071`,key:`196cmz`}]]};T.node;var E=n(T),D={name:`circle-check-big`,size:24,node:[[`path`,{d:`M21.801 10A10 10 0 1 1 17 3.335`,key:`yps3ct`}],[`path`,{d:`m9 11 3 3L22 4`,key:`1pflzl`}]],aliases:[`check-circle`]};D.node;var O=n(D),k={name:`circle-exclamation-point`,size:24,node:[[`circle`,{cx:`12`,cy:`12`,r:`10`,key:`1mglay`}],[`line`,{x1:`12`,x2:`12`,y1:`8`,y2:`12`,key:`1pkeuh`}],[`line`,{x1:`12`,x2:`12.01`,y1:`16`,y2:`16`,key:`4dfq90`}]],aliases:[`alert-circle`,`circle-alert`]};k.node;var re=n(k),A={name:`hourglass`,size:24,node:[[`path`,{d:`M5 22h14`,key:`ehvnwv`}],[`path`,{d:`M5 2h14`,key:`pdyrp9`}],[`path`,{d:`M17 22v-4.172a2 2 0 0 0-.586-1.414L12 12l-4.414 4.414A2 2 0 0 0 7 17.828V22`,key:`1d314k`}],[`path`,{d:`M7 2v4.172a2 2 0 0 0 .586 1.414L12 12l4.414-4.414A2 2 0 0 0 17 6.172V2`,key:`1vvvr6`}]]};A.node;var ie=n(A),j={name:`loader-circle`,size:24,node:[[`path`,{d:`M21 12a9 9 0 1 1-6.219-8.56`,key:`13zald`}]],aliases:[`loader-2`]};j.node;var ae=n(j),M={name:`ticket-check`,size:24,node:[[`path`,{d:`M2 9a3 3 0 0 1 0 6v2a2 2 0 0 0 2 2h16a2 2 0 0 0 2-2v-2a3 3 0 0 1 0-6V7a2 2 0 0 0-2-2H4a2 2 0 0 0-2 2Z`,key:`qn84l0`}],[`path`,{d:`m9 12 2 2 4-4`,key:`dzmm74`}]]};M.node;var N=n(M),P={name:`wallet`,size:24,node:[[`path`,{d:`M19 7V4a1 1 0 0 0-1-1H5a2 2 0 0 0 0 4h15a1 1 0 0 1 1 1v4h-3a2 2 0 0 0 0 4h3a1 1 0 0 0 1-1v-2a1 1 0 0 0-1-1`,key:`18etb6`}],[`path`,{d:`M3 5v14a2 2 0 0 0 2 2h15a1 1 0 0 0 1-1v-4`,key:`xoc0q4`}]]};P.node;var F=n(P),I=e(d(),1),L=4e3,R=(e,t)=>e?.status!==t?.status||e?.redemptionDisputedAt!==t?.redemptionDisputedAt;function z(e){let[{data:t,error:n,fetching:r},i]=f({query:ee,variables:{id:e}}),[a,o]=(0,I.useState)(null),c=a!==null&&te(a.status),{data:l,error:u}=_({query:y,variables:{orderId:e},pause:c}),d=b(b(a,t?.order),l?.orderUpdates);d!==a&&R(d,a)&&o(d);let p=d?.status===`QUEUED`;return(0,I.useEffect)(()=>{if(!p)return;let e=setInterval(()=>i({requestPolicy:`network-only`}),L);return()=>clearInterval(e)},[p,i]),{state:d,voucher:t?.order?.voucher??null,terms:t?.order?.terms??null,redeemedBy:d?.redeemedBy?.nickname??null,notFound:t?.order===null||n!==void 0&&s(n)===`BAD_USER_INPUT`,error:n,fetching:r,isOwn:u===void 0||s(u)!==`BAD_USER_INPUT`,refetch:()=>i({requestPolicy:`network-only`})}}function B(e){return`/${e.kind===`FlashVoucher`?`sales`:`vouchers`}/${e.id}`}var V=w(`a18a58cec961c5919084f2f3553eae9216997399625b4b838d096ebfeed453cc`,`query PayBalance {
  me {
    id
    balance
    __typename
  }
}`),H=w(`746e068da14d1cc3fa23ca06a699842593aa89df0c8a221e5e8cd4aacf870709`,`mutation PayOrder($orderId: ID!, $method: PayMethod!) {
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
  redeemedBy {
    id
    nickname
    __typename
  }
  redemptionDisputedAt
  cancelledAt
  refundedAt
  payBefore
  __typename
}
fragment Refused on UserError {
  code
  message
  field
  retryAfterSeconds
  __typename
}`),U=w(`bd61407f3c2f2f50691866209dc6d011d8b9030dbc66567589aa1fb1e1fccbf1`,`mutation CancelOrder($orderId: ID!) {
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
  redeemedBy {
    id
    nickname
    __typename
  }
  redemptionDisputedAt
  cancelledAt
  refundedAt
  payBefore
  __typename
}
fragment Refused on UserError {
  code
  message
  field
  retryAfterSeconds
  __typename
}`),W=w(`22139a78b95baba3e6bc8f732dab5ccc7bf07174059704fc777145d413e3ea70`,`mutation DisputeRedemption($orderId: ID!) {
  disputeRedemption(orderId: $orderId) {
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
  redeemedBy {
    id
    nickname
    __typename
  }
  redemptionDisputedAt
  cancelledAt
  refundedAt
  payBefore
  __typename
}
fragment Refused on UserError {
  code
  message
  field
  retryAfterSeconds
  __typename
}`),G=w(`cd2ac2549e67a027dbf5dc763689e1ff6a25816269f6a16a66df676d8d528daf`,`mutation RefundOrder($orderId: ID!) {
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
  redeemedBy {
    id
    nickname
    __typename
  }
  redemptionDisputedAt
  cancelledAt
  refundedAt
  payBefore
  __typename
}
fragment Refused on UserError {
  code
  message
  field
  retryAfterSeconds
  __typename
}`),K={confirm:`_confirm_1vsup_1`},q=u(),J=t({cancel:`Cancel order`,cancelTitle:`Cancel this order?`,cancelText:`We’ll release it, and someone else may buy it.`,cancelYes:`Cancel order`,cancelNo:`Keep order`,refund:`Request refund`,refundTitle:`Refund this voucher?`,refundText:`You’ll get your money back, and the code will stop working.`,refundYes:`Request refund`,refundNo:`Keep voucher`,dispute:`I didn’t use this`,disputeTitle:`Didn’t use this voucher?`,disputeText:`The shop marked it as used. Report it, and we’ll check and may refund you.`,disputeYes:`Report`,disputeNo:`Not now`},{cancel:`取消订单`,cancelTitle:`取消这个订单？`,cancelText:`名额将释放，可能被别人买走。`,cancelYes:`确认取消`,cancelNo:`再想想`,refund:`申请退款`,refundTitle:`申请退款？`,refundText:`款项将原路退回，券码随即失效。`,refundYes:`确认退款`,refundNo:`再想想`,dispute:`我没有使用`,disputeTitle:`没有使用此代金券？`,disputeText:`商家已核销此代金券。提交反馈后，我们会核实，并可能为你退款。`,disputeYes:`提交反馈`,disputeNo:`暂不`});function Y({action:e,orderId:t,refetch:n}){let i=J(),[a,o]=(0,I.useState)(!1),[s,c]=C(U),[l,u]=C(G),[d,f]=C(W),m=async()=>{let r=await{cancel:s,refund:l,dispute:d}[e]({orderId:t});o(!1),r.ok||n()};return(0,q.jsxs)(q.Fragment,{children:[(0,q.jsx)(r,{kind:`plain`,onClick:()=>o(!0),children:i[e]}),a&&(0,q.jsx)(p,{title:i[`${e}Title`],onClose:()=>o(!1),children:(0,q.jsxs)(`div`,{className:K.confirm,children:[(0,q.jsx)(`p`,{children:i[`${e}Text`]}),(0,q.jsx)(r,{wide:!0,kind:`danger`,busy:c||u||f,onClick:()=>void m(),children:i[`${e}Yes`]}),(0,q.jsx)(r,{wide:!0,kind:`quiet`,onClick:()=>o(!1),children:i[`${e}No`]})]})})]})}var X={pay:`_pay_1tckn_1`,left:`_left_1tckn_8`,methods:`_methods_1tckn_18`,available:`_available_1tckn_55`,waiting:`_waiting_1tckn_61`},oe=t({within:`Pay within`,how:`Payment method`,BALANCE:`Balance`,ALIPAY:`Alipay`,WECHAT:`WeChat Pay`,available:e=>`${e} available`,pay:e=>`Pay ${e}`,waiting:`Processing your payment. This page updates when it’s done.`,refused:`Your payment didn’t go through. Try again, or choose another payment method.`},{within:`支付剩余时间`,how:`支付方式`,BALANCE:`余额`,ALIPAY:`支付宝`,WECHAT:`微信支付`,available:e=>`可用 ${e}`,pay:e=>`支付 ${e}`,waiting:`支付处理中，完成后此页会更新。`,refused:`支付未成功，请重试或更换支付方式。`}),se=[`ALIPAY`,`WECHAT`,`BALANCE`];function Z({order:e,refetch:t}){let n=oe(),{money:i}=l(),[a,s]=(0,I.useState)(`ALIPAY`),[{data:u}]=f({query:V}),d=u?.me?.balance??0,p=t=>t!==`BALANCE`||d>=e.payValue,[m,h]=(0,I.useState)(!1),[g,_]=C(H,{toastErrors:!1}),y=o(),b=async()=>{let r=await g({orderId:e.id,method:a});if(h(r.ok&&r.value.order?.status===`UNPAID`),r.ok)return;let{status:i,payBefore:o=null}=r.value?.order??{},s=i===`UNPAID`&&(o===null||new Date(o).getTime()>c()),[l]=r.userErrors;l&&ne(l.code===`ORDER_NOT_PAYABLE`&&s?n.refused:y(l)),t()};return(0,q.jsxs)(`div`,{className:X.pay,children:[e.payBefore!==null&&(0,q.jsx)(`div`,{className:X.left,children:(0,q.jsx)(v,{to:e.payBefore,label:n.within})}),(0,q.jsxs)(`fieldset`,{children:[(0,q.jsx)(`legend`,{children:n.how}),(0,q.jsx)(`div`,{className:X.methods,children:se.map(e=>(0,q.jsxs)(`label`,{"data-chosen":a===e||void 0,"data-disabled":!p(e)||void 0,children:[(0,q.jsx)(`input`,{type:`radio`,name:`method`,value:e,checked:a===e,disabled:!p(e),onChange:()=>s(e)}),n[e],e===`BALANCE`&&u?.me&&(0,q.jsx)(`span`,{className:X.available,children:n.available(i(d))})]},e))})]}),(0,q.jsx)(`div`,{role:`status`,children:m&&(0,q.jsx)(`p`,{className:X.waiting,children:n.waiting})}),(0,q.jsx)(r,{wide:!0,busy:_,onClick:()=>void b(),children:n.pay(i(e.payValue))}),(0,q.jsx)(Y,{action:`cancel`,orderId:e.id,refetch:t})]})}var Q={layout:`_layout_1k61d_1`,side:`_side_1k61d_6`,state:`_state_1k61d_17`,status:`_status_1k61d_29`,icon:`_icon_1k61d_35`,turn:`_turn_1k61d_1`,title:`_title_1k61d_68`,text:`_text_1k61d_74`,digits:`_digits_1k61d_78`,voucherLink:`_voucherLink_1k61d_95`,card:`_card_1k61d_102`,rules:`_rules_1k61d_111`,details:`_details_1k61d_117`},$=t({title:`Order`,QUEUED:`Confirming your order…`,queuedText:`You can leave this page. There’s no need to order again.`,UNPAID:`Reserved for you`,unpaidText:`Pay before the timer ends to keep it.`,PAID:`Ready to use`,paidText:`Show this code at the counter.`,USED:`Used`,usedText:`We hope you enjoyed it.`,CANCELLED:`Cancelled`,cancelledText:`You weren’t charged.`,REFUNDING:`Refund in progress`,refundingText:`This page updates when it’s done.`,REFUNDED:`Refunded`,refundedText:e=>`${e} was refunded to your original payment method.`,FAILED:`Order failed`,failedText:`You weren’t charged.`,viewVoucher:`View voucher`,number:`Voucher code`,what:`What you bought`,where:`Where to use it`,details:`Order details`,rules:`Terms of use`,labelled:e=>`${e}: `,price:`Price`,method:`Paid with`,BALANCE:`Balance`,ALIPAY:`Alipay`,WECHAT:`WeChat Pay`,createdAt:`Ordered`,paidAt:`Paid`,usedAt:`Used`,redeemedBy:`Redeemed by`,redemptionDisputedAt:`Reported`,disputedText:`You reported that you didn’t use this. We’ll look into it.`,faceValue:`Value`,cancelledAt:`Cancelled`,refundedAt:`Refunded`},{title:`订单详情`,QUEUED:`正在确认订单…`,queuedText:`你可以离开此页，无需重复下单。`,UNPAID:`已为你保留`,unpaidText:`请在倒计时结束前支付。`,PAID:`待使用`,paidText:`到店出示此券码。`,USED:`已使用`,usedText:`感谢惠顾，期待再次光临。`,CANCELLED:`已取消`,cancelledText:`未扣款。`,REFUNDING:`退款中`,refundingText:`退款完成后此页会更新。`,REFUNDED:`已退款`,refundedText:e=>`${e} 已原路退回。`,FAILED:`下单失败`,failedText:`未扣款。`,viewVoucher:`查看代金券`,number:`券码`,what:`购买内容`,where:`适用店铺`,details:`订单信息`,rules:`使用规则`,labelled:e=>`${e}：`,price:`售价`,method:`支付方式`,BALANCE:`余额`,ALIPAY:`支付宝`,WECHAT:`微信支付`,createdAt:`下单时间`,paidAt:`支付时间`,usedAt:`使用时间`,redeemedBy:`核销人`,redemptionDisputedAt:`反馈时间`,disputedText:`你已反馈没有使用此代金券，我们会核实。`,faceValue:`面值`,cancelledAt:`取消时间`,refundedAt:`退款时间`}),ce={QUEUED:ae,UNPAID:F,PAID:N,USED:O,CANCELLED:E,REFUNDING:ie,REFUNDED:a,FAILED:re};function le({id:e}){let t=$(),{state:n,voucher:r,terms:a,redeemedBy:o,notFound:s,error:c,isOwn:l,refetch:u}=z(e);return n===null||r===null||a===null?s?(0,q.jsx)(x,{}):(0,q.jsx)(g,{title:t.title,backTo:`/orders`,children:c?(0,q.jsx)(h,{error:c,onRetry:u}):(0,q.jsx)(m,{shape:`card`})}):(0,q.jsx)(g,{title:t.title,backTo:`/orders`,children:(0,q.jsxs)(`div`,{className:Q.layout,"data-order":e,children:[(0,q.jsx)(ue,{order:n,voucher:r,isOwn:l,refetch:u}),(0,q.jsxs)(`div`,{className:Q.side,children:[(0,q.jsxs)(`section`,{"aria-labelledby":`what`,children:[(0,q.jsx)(`h2`,{id:`what`,children:t.what}),(0,q.jsxs)(`div`,{className:Q.card,children:[(0,q.jsx)(`h3`,{dir:`auto`,children:(0,q.jsx)(i,{href:B(r),children:a.title})}),a.subTitle!==null&&(0,q.jsx)(`p`,{dir:`auto`,children:a.subTitle}),a.rules!==null&&(0,q.jsxs)(`p`,{className:Q.rules,children:[(0,q.jsx)(`span`,{className:`visually-hidden`,children:t.labelled(t.rules)}),(0,q.jsx)(`bdi`,{children:a.rules})]})]})]}),(0,q.jsxs)(`section`,{"aria-labelledby":`where`,children:[(0,q.jsx)(`h2`,{id:`where`,children:t.where}),(0,q.jsx)(S,{shop:r.shop})]}),(0,q.jsx)(he,{order:n,faceValue:a.faceValue,redeemedBy:o})]})]})})}function ue({order:e,voucher:t,isOwn:n,refetch:r}){let a=$(),{money:s}=l(),c=o(),{status:u,failure:d}=e,f=ce[u],p={QUEUED:a.queuedText,UNPAID:a.unpaidText,PAID:a.paidText,USED:e.redemptionDisputedAt===null?a.usedText:a.disputedText,CANCELLED:a.cancelledText,REFUNDING:a.refundingText,REFUNDED:a.refundedText(s(e.payValue)),FAILED:d===null?a.failedText:c(d)},m=null;return u===`UNPAID`&&n&&(m=(0,q.jsx)(Z,{order:e,refetch:r})),u===`PAID`&&(m=(0,q.jsxs)(q.Fragment,{children:[(0,q.jsx)(pe,{number:e.number}),n&&(0,q.jsx)(Y,{action:`refund`,orderId:e.id,refetch:r})]})),n&&fe(e)&&(m=(0,q.jsx)(Y,{action:`dispute`,orderId:e.id,refetch:r})),(u===`FAILED`||u===`CANCELLED`)&&(m=(0,q.jsx)(i,{href:B(t),className:Q.voucherLink,children:a.viewVoucher})),(0,q.jsxs)(`div`,{className:Q.state,"data-status":u,"data-failure":d?.code,children:[(0,q.jsxs)(`div`,{role:`status`,className:Q.status,children:[(0,q.jsx)(`span`,{className:Q.icon,children:(0,q.jsx)(f,{"aria-hidden":`true`,size:32})}),(0,q.jsx)(`p`,{className:Q.title,children:a[u]}),(0,q.jsx)(`p`,{className:Q.text,children:p[u]})]}),m]})}var de=864e5;function fe({status:e,usedAt:t,redemptionDisputedAt:n}){return e===`USED`&&n===null&&t!==null&&c()<new Date(t).getTime()+de}function pe({number:e}){let t=$();return(0,q.jsxs)(`p`,{className:Q.digits,"data-number":e,children:[(0,q.jsx)(`span`,{className:`visually-hidden`,children:t.labelled(t.number)}),(e.match(/.{1,4}/g)??[]).map((e,t)=>(0,q.jsxs)(`span`,{children:[e,` `]},t))]})}var me=[`createdAt`,`paidAt`,`usedAt`,`redemptionDisputedAt`,`cancelledAt`,`refundedAt`];function he({order:e,faceValue:t,redeemedBy:n}){let r=$(),{money:i,moment:a}=l();return(0,q.jsxs)(`section`,{"aria-labelledby":`details`,children:[(0,q.jsx)(`h2`,{id:`details`,children:r.details}),(0,q.jsxs)(`dl`,{className:`${Q.card} ${Q.details}`,children:[(0,q.jsxs)(`div`,{children:[(0,q.jsx)(`dt`,{children:r.number}),(0,q.jsx)(`dd`,{children:e.number})]}),(0,q.jsxs)(`div`,{children:[(0,q.jsx)(`dt`,{children:r.price}),(0,q.jsx)(`dd`,{children:i(e.payValue)})]}),(0,q.jsxs)(`div`,{children:[(0,q.jsx)(`dt`,{children:r.faceValue}),(0,q.jsx)(`dd`,{children:i(t)})]}),e.payMethod!==null&&(0,q.jsxs)(`div`,{children:[(0,q.jsx)(`dt`,{children:r.method}),(0,q.jsx)(`dd`,{children:r[e.payMethod]})]}),n!==null&&(0,q.jsxs)(`div`,{children:[(0,q.jsx)(`dt`,{children:r.redeemedBy}),(0,q.jsx)(`dd`,{dir:`auto`,children:n})]}),me.map(t=>{let n=e[t];return n===null?null:(0,q.jsxs)(`div`,{children:[(0,q.jsx)(`dt`,{children:r[t]}),(0,q.jsx)(`dd`,{children:(0,q.jsx)(`time`,{dateTime:n,children:a(n)})})]},t)})]})]})}export{le as Order};