import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{a as t,n}from"./preload-helper-Chrg9qMa.js";import{S as r,_ as i,c as a,s as o,u as s}from"./Screen-CySPHyEf.js";import{i as c,t as l}from"./document-bm9CNBvx.js";import{a as u}from"./session-rGo10Wj6.js";import{n as d}from"./toast-ZrJXNZZ4.js";import{r as f,t as p}from"./errors-Bh1mlnZ7.js";import{E as m,M as h,N as g,W as _}from"./app-B-dACTNm.js";import{t as v}from"./ShopLine-PMZ7byjC.js";var y={bar:`_bar_dhuuy_2`,notes:`_notes_dhuuy_16`,unknown:`_unknown_dhuuy_26`,orders:`_orders_dhuuy_31`,refused:`_refused_dhuuy_39`,had:`_had_dhuuy_44`,price:`_price_dhuuy_49`},b=e(t(),1),x=l(`d2be25f9590c3ba45fe087c1f330653b29ecda11d65410584aebd22034c529de`,`mutation OrderVoucher($voucherId: ID!, $idempotencyKey: String!) {
  orderVoucher(voucherId: $voucherId, idempotencyKey: $idempotencyKey) {
    order {
      ...OrderCard
      __typename
    }
    userErrors {
      ...Refused
      __typename
    }
    __typename
  }
}
fragment OrderCard on Order {
  ...OrderState
  voucher {
    kind: __typename
    id
    title
    shop {
      id
      name
      images {
        thumbnailUrl
        __typename
      }
      __typename
    }
    __typename
  }
  __typename
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
}`),S=l(`f019479d2dd23d004b8ea247d902b1e1d309e7967b07816f08617d0800de89ff`,`query LiveOrders {
  me {
    id
    orders(status: [QUEUED, UNPAID, PAID, USED, REFUNDING], first: 100) {
      edges {
        node {
          id
          status
          voucher {
            id
            __typename
          }
          __typename
        }
        __typename
      }
      __typename
    }
    __typename
  }
}`),C=3e5;function w({shelf:e,now:t=Date.now,randomKey:n=D}){let r=new Map,i=(n,i)=>{let o=T(n,i),s=r.get(o)??E(e,o);return s===null?null:Math.abs(t()-s.at)<828e5?s:(a(o),null)},a=t=>{r.delete(t);try{e.removeItem(t)}catch{}};return{open:i,recent:(e,n)=>{let r=i(e,n);return r!==null&&Math.abs(t()-r.at)<C?r:null},begin:(a,o)=>{let s=i(a,o);if(s!==null)return s;let c={key:n(),at:t()},l=T(a,o);try{e.setItem(l,JSON.stringify(c))}catch{r.set(l,c)}return c},end:(e,t,n)=>{i(e,t)?.key===n.key&&a(T(e,t))}}}function T(e,t){return`tandian.intent:${e}:${t}`}function E(e,t){try{let{key:n,at:r}=JSON.parse(e.getItem(t)??`{}`);return typeof n==`string`&&typeof r==`number`?{key:n,at:r}:null}catch{return null}}function D(){let e=crypto.getRandomValues(new Uint8Array(16));return Array.from(e,e=>e.toString(16).padStart(2,`0`)).join(``)}var O=new Set([`BAD_USER_INPUT`,`FORBIDDEN`,`GRAPHQL_PARSE_FAILED`,`GRAPHQL_VALIDATION_FAILED`]);function k({order:e,refusals:t,failure:n}){if(typeof n==`string`&&O.has(n))return{kind:`refused`,code:n};if(n!==void 0||t===void 0)return{kind:`unknown`,code:n??null};let[r]=t;return r===`ALREADY_ORDERED`?{kind:`had`,orderId:e?.id??null}:r===void 0?e?{kind:`ordered`,orderId:e.id}:{kind:`unknown`,code:null}:{kind:`refused`,code:r}}var A=s({done:`Your order was made: see Orders.`,had:`You had one already: here is your order.`},{done:`下单成功，请到“订单”中查看。`,had:`你已经买过了，这是你的订单。`}),j=w({shelf:localStorage}),M=250,N=3e4,P={state:`idle`,code:null,refusal:null},F={state:`asking`,code:null,refusal:null},I={state:`unknown`,code:null,refusal:null};function L(e,{onRefused:t}){let n=A(),i=u(),a=c(),[,o]=r(),s=i?.userId??null,[l,f]=(0,b.useState)(()=>s===null||j.open(s,e)===null?P:j.recent(s,e)===null?I:F),m=(0,b.useRef)(!1),h=(0,b.useRef)(!1),g=(0,b.useRef)({at:0,times:0}),v=(0,b.useRef)(void 0),y=(0,b.useEffectEvent)(t),S=(0,b.useCallback)(async(t,r)=>{if(m.current)return;m.current=!0;let{data:i,error:s}=await a.mutation(x,{voucherId:e,idempotencyKey:r.key}).toPromise();m.current=!1,g.current={at:Date.now(),times:g.current.times+1};let c=i?.orderVoucher,l=k({order:c?.order,refusals:c?.userErrors.map(({code:e})=>e),failure:s===void 0?void 0:p(s)});if(l.kind===`unknown`){f({...I,code:l.code});return}j.end(t,e,r);let u=`orderId`in l?l.orderId:null;if(u===null){let e=`code`in l?l.code:`ALREADY_ORDERED`,[t]=c?.userErrors??[],n={code:e,message:s?.message??e};f({state:`idle`,code:null,refusal:t??n})}else f(P),h.current?(l.kind===`had`&&d(n.had),o(`/orders/${u}`)):d(n.done)},[a,e,o,n]),C=(0,b.useEffectEvent)(()=>{let t=s===null?null:j.recent(s,e);return s===null||t===null?!1:(S(s,t),!0)});(0,b.useEffect)(()=>(h.current=!0,C(),()=>{h.current=!1,clearTimeout(v.current)}),[]),_(()=>{let{at:e,times:t}=g.current;clearTimeout(v.current),v.current=setTimeout(()=>{C()&&f(F)},Math.max(0,e+Math.min(M*2**t,N)-Date.now()))});let{refusal:w}=l;(0,b.useEffect)(()=>{w!==null&&y()},[w]);let T=()=>{s!==null&&(f(F),g.current={at:0,times:0},S(s,j.begin(s,e)))};return{...l,buy:T}}var R=new Set([`QUEUED`,`UNPAID`,`PAID`,`USED`,`REFUNDING`]);function z(e){let t=u()===null||!e.onePerUser,[{data:n}]=g({query:S,variables:{},pause:t});return t?null:(n?.me?.orders?.edges.find(({node:t})=>t.voucher.id===e.id&&R.has(t.status)))?.node.id??null}var B=n(),V=s({buy:`Buy now`,asking:`Ordering…`,again:`Try again`,unknown:`We do not know yet whether your order went through. Trying again buys only one.`,orders:`See my orders`,signIn:`Sign in to buy`,had:`You have one of these.`,see:`See your order`,RATE_LIMITED:`Too many tries at once.`,UNAVAILABLE:`Very many people are buying right now.`},{buy:`立即购买`,asking:`正在下单…`,again:`再试一次`,unknown:`还不确定是否下单成功。再试一次也只会买一份。`,orders:`查看我的订单`,signIn:`登录后购买`,had:`你已经买过了。`,see:`查看订单`,RATE_LIMITED:`操作太频繁。`,UNAVAILABLE:`抢购的人太多了。`});function H({voucher:e,closed:t,soon:n=!1,onRefused:r}){let s=V(),{money:c}=h(),l=u(),d=z(e),{state:p,code:g,refusal:_,buy:v}=L(e.id,{onRefused:r}),b=f(),x=p===`unknown`,S=(0,B.jsx)(o,{wide:!0,onClick:v,children:s.buy});p===`idle`?d===null?t!==null&&!(n&&l===null)?S=(0,B.jsx)(o,{wide:!0,disabled:!0,children:t}):l===null&&(S=(0,B.jsx)(a,{wide:!0,href:m(),children:s.signIn})):S=(0,B.jsx)(a,{wide:!0,href:`/orders/${d}`,children:s.see}):S=(0,B.jsx)(o,{wide:!0,busy:p===`asking`,onClick:v,children:x?s.again:s.asking});let C=g===`RATE_LIMITED`||g===`UNAVAILABLE`?s[g]:null;return(0,B.jsxs)(`div`,{className:y.bar,"data-buying":p,children:[(0,B.jsxs)(`div`,{role:`status`,className:y.notes,children:[x&&(0,B.jsxs)(`p`,{className:y.unknown,children:[C,` `,s.unknown,` `,(0,B.jsx)(i,{href:`/orders`,className:y.orders,children:s.orders})]}),_!==null&&p===`idle`&&(0,B.jsx)(`p`,{className:y.refused,"data-refusal":_.code,children:b(_)}),d!==null&&p===`idle`&&_===null&&(0,B.jsx)(`p`,{className:y.had,children:s.had})]}),(0,B.jsx)(`strong`,{className:y.price,children:c(e.payValue)}),S]})}var U={section:`_section_teppq_1`,rules:`_rules_teppq_6`},W=s({rules:`Rules`,shop:`Where`},{rules:`使用规则`,shop:`适用门店`});function G({voucher:e}){let t=W();return(0,B.jsxs)(B.Fragment,{children:[e.rules!==null&&(0,B.jsxs)(`section`,{className:U.section,"aria-labelledby":`rules`,children:[(0,B.jsx)(`h2`,{id:`rules`,children:t.rules}),(0,B.jsx)(`p`,{className:U.rules,children:e.rules})]}),(0,B.jsxs)(`section`,{className:U.section,"aria-labelledby":`where`,children:[(0,B.jsx)(`h2`,{id:`where`,children:t.shop}),(0,B.jsx)(v,{shop:e.shop})]})]})}var K={head:`_head_1mem7_1`,tag:`_tag_1mem7_10`,sub:`_sub_1mem7_19`,price:`_price_1mem7_23`,save:`_save_1mem7_42`},q=s({save:e=>`Save ${e}`,price:`Price`,worth:`Worth`},{save:e=>`立省 ${e}`,price:`价格`,worth:`价值`});function J({voucher:e,tag:t,children:n}){let r=q(),{money:i}=h(),a=e.faceValue-e.payValue;return(0,B.jsxs)(`div`,{className:K.head,children:[(0,B.jsx)(`p`,{className:K.tag,children:t}),e.subTitle!==null&&(0,B.jsx)(`p`,{className:K.sub,children:e.subTitle}),(0,B.jsxs)(`p`,{className:K.price,children:[(0,B.jsx)(`span`,{className:`unseen`,children:r.price}),(0,B.jsx)(`strong`,{children:i(e.payValue)}),(0,B.jsx)(`span`,{className:`unseen`,children:r.worth}),(0,B.jsx)(`s`,{children:i(e.faceValue)}),a>0&&(0,B.jsx)(`span`,{className:K.save,children:r.save(i(a))})]}),n]})}export{G as n,H as r,J as t};