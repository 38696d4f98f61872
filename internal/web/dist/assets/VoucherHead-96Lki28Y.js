import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{a as t,n}from"./preload-helper-Chrg9qMa.js";import{l as r,o as i,s as a,y as o}from"./Screen-DdURs_yY.js";import{i as s,t as c}from"./document-bm9CNBvx.js";import{a as l}from"./session-zqIz0r0r.js";import{n as u}from"./toast-ZrJXNZZ4.js";import{r as d,t as f}from"./errors-C_u5kzCD.js";import{A as p,H as m,j as h,w as g}from"./app-C_ToAT57.js";import{t as _}from"./ShopLine-Hd9DRLaL.js";var v={bar:`_bar_ia1bv_2`,notes:`_notes_ia1bv_16`,unknown:`_unknown_ia1bv_26`,refused:`_refused_ia1bv_31`,had:`_had_ia1bv_36`,price:`_price_ia1bv_41`},y=e(t(),1),b=c(`d2be25f9590c3ba45fe087c1f330653b29ecda11d65410584aebd22034c529de`,`mutation OrderVoucher($voucherId: ID!, $idempotencyKey: String!) {
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
}`),x=c(`f019479d2dd23d004b8ea247d902b1e1d309e7967b07816f08617d0800de89ff`,`query LiveOrders {
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
}`);function S({shelf:e,now:t=Date.now,randomKey:n=T}){let r=new Map,i=(n,i)=>{let o=C(n,i),s=r.get(o)??w(e,o);return s===null?null:Math.abs(t()-s.at)<828e5?s:(a(o),null)},a=t=>{r.delete(t);try{e.removeItem(t)}catch{}};return{open:i,begin:(a,o)=>{let s=i(a,o);if(s!==null)return s;let c={key:n(),at:t()},l=C(a,o);try{e.setItem(l,JSON.stringify(c))}catch{r.set(l,c)}return c},end:(e,t,n)=>{i(e,t)?.key===n.key&&a(C(e,t))}}}function C(e,t){return`tandian.intent:${e}:${t}`}function w(e,t){try{let{key:n,at:r}=JSON.parse(e.getItem(t)??`{}`);return typeof n==`string`&&typeof r==`number`?{key:n,at:r}:null}catch{return null}}function T(){let e=crypto.getRandomValues(new Uint8Array(16));return Array.from(e,e=>e.toString(16).padStart(2,`0`)).join(``)}var E=new Set([`BAD_USER_INPUT`,`FORBIDDEN`,`GRAPHQL_PARSE_FAILED`,`GRAPHQL_VALIDATION_FAILED`]);function D({order:e,refusals:t,failure:n}){if(typeof n==`string`&&E.has(n))return{kind:`refused`,code:n};if(n!==void 0||t===void 0)return{kind:`unknown`,code:n??null};let[r]=t;return r===`ALREADY_ORDERED`?{kind:`had`,orderId:e?.id??null}:r===void 0?e?{kind:`ordered`,orderId:e.id}:{kind:`unknown`,code:null}:{kind:`refused`,code:r}}var O=r({done:`Your order was made: see Orders.`,had:`You had one already: here is your order.`},{done:`下单成功，请到“订单”中查看。`,had:`你已经买过了，这是你的订单。`}),k=S({shelf:localStorage}),A=250,j=3e4,M={state:`idle`,code:null,refusal:null},N={state:`asking`,code:null,refusal:null};function P(e,{onRefused:t}){let n=O(),r=l(),i=s(),[,a]=o(),c=r?.userId??null,[d,p]=(0,y.useState)(()=>c!==null&&k.open(c,e)!==null?N:M),h=(0,y.useRef)(!1),g=(0,y.useRef)(!1),_=(0,y.useRef)({at:0,times:0}),v=(0,y.useRef)(void 0),x=(0,y.useEffectEvent)(t),S=(0,y.useCallback)(async(t,r)=>{if(h.current)return;h.current=!0;let{data:o,error:s}=await i.mutation(b,{voucherId:e,idempotencyKey:r.key}).toPromise();h.current=!1,_.current={at:Date.now(),times:_.current.times+1};let c=o?.orderVoucher,l=D({order:c?.order,refusals:c?.userErrors.map(({code:e})=>e),failure:s===void 0?void 0:f(s)});if(l.kind===`unknown`){p({state:`unknown`,code:l.code,refusal:null});return}k.end(t,e,r);let d=`orderId`in l?l.orderId:null;if(d===null){let e=`code`in l?l.code:`ALREADY_ORDERED`,[t]=c?.userErrors??[],n={code:e,message:s?.message??e};p({state:`idle`,code:null,refusal:t??n})}else p(M),g.current?(l.kind===`had`&&u(n.had),a(`/orders/${d}`)):u(n.done)},[i,e,a,n]),C=(0,y.useEffectEvent)(()=>{let t=c===null?null:k.open(c,e);return c===null||t===null?!1:(S(c,t),!0)});(0,y.useEffect)(()=>(g.current=!0,C(),()=>{g.current=!1,clearTimeout(v.current)}),[]),m(()=>{let{at:e,times:t}=_.current;clearTimeout(v.current),v.current=setTimeout(()=>{C()&&p(N)},Math.max(0,e+Math.min(A*2**t,j)-Date.now()))});let{refusal:w}=d;(0,y.useEffect)(()=>{w!==null&&x()},[w]);let T=()=>{c!==null&&(p(N),_.current={at:0,times:0},S(c,k.begin(c,e)))};return{...d,buy:T}}var F=new Set([`QUEUED`,`UNPAID`,`PAID`,`USED`,`REFUNDING`]);function I(e){let t=l()===null||!e.onePerUser,[{data:n}]=h({query:x,variables:{},pause:t});return t?null:(n?.me?.orders?.edges.find(({node:t})=>t.voucher.id===e.id&&F.has(t.status)))?.node.id??null}var L=n(),R=r({buy:`Buy now`,asking:`Ordering…`,again:`Try again`,unknown:`We do not know yet whether your order went through. Trying again buys only one.`,signIn:`Sign in to buy`,had:`You have one of these.`,see:`See your order`,RATE_LIMITED:`Too many tries at once.`,UNAVAILABLE:`Very many people are buying right now.`},{buy:`立即购买`,asking:`正在下单…`,again:`再试一次`,unknown:`还不确定是否下单成功。再试一次也只会买一份。`,signIn:`登录后购买`,had:`你已经买过了。`,see:`查看订单`,RATE_LIMITED:`操作太频繁。`,UNAVAILABLE:`抢购的人太多了。`});function z({voucher:e,closed:t,soon:n=!1,onRefused:r}){let o=R(),{money:s}=p(),c=l(),u=I(e),{state:f,code:m,refusal:h,buy:_}=P(e.id,{onRefused:r}),y=d(),b=f===`unknown`,x=(0,L.jsx)(i,{wide:!0,onClick:_,children:o.buy});f===`idle`?u===null?t!==null&&!(n&&c===null)?x=(0,L.jsx)(i,{wide:!0,disabled:!0,children:t}):c===null&&(x=(0,L.jsx)(a,{wide:!0,href:g(),children:o.signIn})):x=(0,L.jsx)(a,{wide:!0,href:`/orders/${u}`,children:o.see}):x=(0,L.jsx)(i,{wide:!0,busy:f===`asking`,onClick:_,children:b?o.again:o.asking});let S=m===`RATE_LIMITED`||m===`UNAVAILABLE`?o[m]:null;return(0,L.jsxs)(`div`,{className:v.bar,"data-buying":f,children:[(0,L.jsxs)(`div`,{role:`status`,className:v.notes,children:[b&&(0,L.jsxs)(`p`,{className:v.unknown,children:[S,` `,o.unknown]}),h!==null&&f===`idle`&&(0,L.jsx)(`p`,{className:v.refused,"data-refusal":h.code,children:y(h)}),u!==null&&f===`idle`&&h===null&&(0,L.jsx)(`p`,{className:v.had,children:o.had})]}),(0,L.jsx)(`strong`,{className:v.price,children:s(e.payValue)}),x]})}var B={section:`_section_teppq_1`,rules:`_rules_teppq_6`},V=r({rules:`Rules`,shop:`Where`},{rules:`使用规则`,shop:`适用门店`});function H({voucher:e}){let t=V();return(0,L.jsxs)(L.Fragment,{children:[e.rules!==null&&(0,L.jsxs)(`section`,{className:B.section,"aria-labelledby":`rules`,children:[(0,L.jsx)(`h2`,{id:`rules`,children:t.rules}),(0,L.jsx)(`p`,{className:B.rules,children:e.rules})]}),(0,L.jsxs)(`section`,{className:B.section,"aria-labelledby":`where`,children:[(0,L.jsx)(`h2`,{id:`where`,children:t.shop}),(0,L.jsx)(_,{shop:e.shop})]})]})}var U={head:`_head_1mem7_1`,tag:`_tag_1mem7_10`,sub:`_sub_1mem7_19`,price:`_price_1mem7_23`,save:`_save_1mem7_42`},W=r({save:e=>`Save ${e}`,price:`Price`,worth:`Worth`},{save:e=>`立省 ${e}`,price:`价格`,worth:`价值`});function G({voucher:e,tag:t,children:n}){let r=W(),{money:i}=p(),a=e.faceValue-e.payValue;return(0,L.jsxs)(`div`,{className:U.head,children:[(0,L.jsx)(`p`,{className:U.tag,children:t}),e.subTitle!==null&&(0,L.jsx)(`p`,{className:U.sub,children:e.subTitle}),(0,L.jsxs)(`p`,{className:U.price,children:[(0,L.jsx)(`span`,{className:`unseen`,children:r.price}),(0,L.jsx)(`strong`,{children:i(e.payValue)}),(0,L.jsx)(`span`,{className:`unseen`,children:r.worth}),(0,L.jsx)(`s`,{children:i(e.faceValue)}),a>0&&(0,L.jsx)(`span`,{className:U.save,children:r.save(i(a))})]}),n]})}export{H as n,z as r,G as t};