import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{i as t,l as n}from"./preload-helper-DXbBgPnf.js";import{c as r,h as i,i as a,n as o,t as s,u as c}from"./Button-BJNnZ8XN.js";import{i as l,t as u}from"./document-D_a4HVPm.js";import{a as d}from"./session-JQV9-zIN.js";import{c as f,t as p}from"./useApiQuery-DhNs3sUT.js";import{t as m}from"./format-scrNEY_u.js";import{n as h}from"./toast--XnaLTgW.js";import{r as g,t as _}from"./errors-CWz5aWUu.js";import{t as v}from"./useSignInGuard-CK1--RHy.js";import{t as y}from"./ShopRow-CET_LTG1.js";var b=e(n(),1),x={bar:`_bar_v9yh3_2`,notes:`_notes_v9yh3_16`,unknown:`_unknown_v9yh3_26`,orders:`_orders_v9yh3_31`,refused:`_refused_v9yh3_39`,existing:`_existing_v9yh3_44`,price:`_price_v9yh3_49`},S=u(`803b2cb6e737be661c098f1a8bab33ad671e529466b6cc5729cf58d9153caa93`,`mutation OrderVoucher($voucherId: ID!, $idempotencyKey: String!) {
  orderVoucher(voucherId: $voucherId, idempotencyKey: $idempotencyKey) {
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
}`),C=u(`f019479d2dd23d004b8ea247d902b1e1d309e7967b07816f08617d0800de89ff`,`query LiveOrders {
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
}`),w=3e5;function T({storage:e,now:t=Date.now,randomKey:n=O}){let r=new Map,i=(t,n)=>{let i=E(t,n),o=r.get(i)??D(e,i);return o===null?null:a(o,828e5)?o:(s(i),null)},a=({at:e},n)=>Math.abs(t()-e)<n,o=(t,n)=>{try{e.setItem(t,JSON.stringify(n))}catch{r.set(t,n)}},s=t=>{r.delete(t);try{e.removeItem(t)}catch{}};return{open:i,recent:(e,t,n=null)=>{let r=n??i(e,t);return r!==null&&a(r,w)?r:null},begin:(e,r,s=null)=>{let c=i(e,r),l=(s!==null&&a(s,828e5)?s:null)??c??{key:n(),at:t()};return c===null&&o(E(e,r),l),l},end:(e,t,n)=>{i(e,t)?.key===n.key&&s(E(e,t))}}}function E(e,t){return`tandian.intent:${e}:${t}`}function D(e,t){try{let{key:n,at:r}=JSON.parse(e.getItem(t)??`{}`);return typeof n==`string`&&typeof r==`number`?{key:n,at:r}:null}catch{return null}}function O(){let e=crypto.getRandomValues(new Uint8Array(16));return Array.from(e,e=>e.toString(16).padStart(2,`0`)).join(``)}var k=new Set([`BAD_USER_INPUT`,`FORBIDDEN`,`GRAPHQL_PARSE_FAILED`,`GRAPHQL_VALIDATION_FAILED`]);function A({order:e,userErrors:t,failure:n}){if(typeof n==`string`&&k.has(n))return{kind:`refused`,code:n};if(n!==void 0||t===void 0)return{kind:`unknown`,code:n??null};let[r]=t;return r===`ALREADY_ORDERED`?{kind:`existing`,orderId:e?.id??null}:r===void 0?e?{kind:`ordered`,orderId:e.id}:{kind:`unknown`,code:null}:{kind:`refused`,code:r}}var j=a({done:`Order placed. Find it in Orders.`,existing:`You already bought this. Here’s your order.`},{done:`下单成功，可在“订单”中查看。`,existing:`你已购买过，这是你的订单。`}),M=T({storage:r}),N=250,P=3e4,F={state:`idle`,code:null,userError:null},I={state:`ordering`,code:null,userError:null},L={state:`unknown`,code:null,userError:null};function R(e,{onRefused:t}){let n=j(),r=d(),a=l(),[,o]=i(),s=r?.userId??null,[c]=(0,b.useState)(()=>s===null?null:M.open(s,e)),[u,p]=(0,b.useState)(()=>s===null||c===null?F:M.recent(s,e,c)===null?L:I),m=(0,b.useRef)(c),g=(0,b.useRef)(!1),v=(0,b.useRef)(!1),y=(0,b.useRef)({at:0,times:0}),x=(0,b.useRef)(void 0),C=(0,b.useEffectEvent)(t),w=(0,b.useCallback)(async(t,r)=>{if(g.current)return;g.current=!0,m.current=r;let{data:i,error:s}=await a.mutation(S,{voucherId:e,idempotencyKey:r.key}).toPromise();g.current=!1,y.current={at:Date.now(),times:y.current.times+1};let c=i?.orderVoucher,l=A({order:c?.order,userErrors:c?.userErrors.map(({code:e})=>e),failure:s===void 0?void 0:_(s)});if(l.kind===`unknown`){p({...L,code:l.code});return}M.end(t,e,r),m.current=null;let u=`orderId`in l?l.orderId:null;if(u===null){let e=`code`in l?l.code:`ALREADY_ORDERED`,[t]=c?.userErrors??[],n={code:e,message:s?.message??e};p({state:`idle`,code:null,userError:t??n})}else p(F),v.current?(l.kind===`existing`&&h(n.existing),o(`/orders/${u}`)):h(n.done)},[a,e,o,n]),T=(0,b.useEffectEvent)(()=>{let t=s===null?null:M.recent(s,e,m.current);return s===null||t===null?!1:(w(s,t),!0)});(0,b.useEffect)(()=>(v.current=!0,T(),()=>{v.current=!1,clearTimeout(x.current)}),[]),f(()=>{let{at:e,times:t}=y.current;clearTimeout(x.current),x.current=setTimeout(()=>{T()&&p(I)},Math.max(0,e+Math.min(N*2**t,P)-Date.now()))});let{userError:E}=u;(0,b.useEffect)(()=>{E!==null&&C()},[E]);let D=()=>{s!==null&&(p(I),y.current={at:0,times:0},w(s,M.begin(s,e,m.current)))};return{...u,buy:D}}var z=new Set([`QUEUED`,`UNPAID`,`PAID`,`USED`,`REFUNDING`]);function B(e){let t=d()===null||!e.onePerUser,[{data:n}]=p({query:C,variables:{},pause:t});return t?null:(n?.me?.orders?.edges.find(({node:t})=>t.voucher.id===e.id&&z.has(t.status)))?.node.id??null}var V=t(),H=a({buy:`Buy now`,ordering:`Placing your order…`,again:`Try again`,unknown:`We’re not sure your order went through. Trying again won’t buy a second one.`,orders:`View my orders`,signIn:`Sign in to buy`,existing:`You already bought this.`,viewOrder:`View order`,RATE_LIMITED:`Too many attempts.`,UNAVAILABLE:`It’s very busy right now.`},{buy:`立即购买`,ordering:`正在下单…`,again:`重试`,unknown:`暂时无法确认是否下单成功。重试也只会购买 1 张。`,orders:`查看我的订单`,signIn:`登录后购买`,existing:`你已购买过。`,viewOrder:`查看订单`,RATE_LIMITED:`操作太频繁。`,UNAVAILABLE:`当前抢购的人太多。`});function U({voucher:e,closed:t,soon:n=!1,onRefused:r}){let i=H(),{money:a}=m(),l=d(),u=B(e),{state:f,code:p,userError:h,buy:_}=R(e.id,{onRefused:r}),y=g(),S=f===`unknown`,[C,w]=(0,b.useState)({closed:t,userError:h});t!==C.closed&&w({closed:t,userError:t===null?h:null});let T=h===C.userError?null:h,E=(0,V.jsx)(s,{wide:!0,onClick:_,children:i.buy});f===`idle`?u===null?t!==null&&!(n&&l===null)?E=(0,V.jsx)(s,{wide:!0,disabled:!0,children:t}):l===null&&(E=(0,V.jsx)(o,{wide:!0,href:v(),children:i.signIn})):E=(0,V.jsx)(o,{wide:!0,href:`/orders/${u}`,children:i.viewOrder}):E=(0,V.jsx)(s,{wide:!0,busy:f===`ordering`,onClick:_,children:S?i.again:i.ordering});let D=p===`RATE_LIMITED`||p===`UNAVAILABLE`?i[p]:null;return(0,V.jsxs)(`div`,{className:x.bar,"data-buying":f,children:[(0,V.jsxs)(`div`,{role:`status`,className:x.notes,children:[S&&(0,V.jsxs)(`p`,{className:x.unknown,children:[D,` `,i.unknown,` `,(0,V.jsx)(c,{href:`/orders`,className:x.orders,children:i.orders})]}),T!==null&&f===`idle`&&(0,V.jsx)(`p`,{className:x.refused,"data-refusal":T.code,children:y(T)}),u!==null&&f===`idle`&&T===null&&(0,V.jsx)(`p`,{className:x.existing,children:i.existing})]}),(0,V.jsx)(`strong`,{className:x.price,children:a(e.payValue)}),E]})}var W={section:`_section_teppq_1`,rules:`_rules_teppq_6`},G=a({rules:`Terms of use`,shop:`Where to use it`},{rules:`使用规则`,shop:`适用店铺`});function K({voucher:e}){let t=G();return(0,V.jsxs)(V.Fragment,{children:[e.rules!==null&&(0,V.jsxs)(`section`,{className:W.section,"aria-labelledby":`rules`,children:[(0,V.jsx)(`h2`,{id:`rules`,children:t.rules}),(0,V.jsx)(`p`,{className:W.rules,dir:`auto`,children:e.rules})]}),(0,V.jsxs)(`section`,{className:W.section,"aria-labelledby":`where`,children:[(0,V.jsx)(`h2`,{id:`where`,children:t.shop}),(0,V.jsx)(y,{shop:e.shop})]})]})}var q={head:`_head_1mem7_1`,tag:`_tag_1mem7_10`,sub:`_sub_1mem7_19`,price:`_price_1mem7_23`,save:`_save_1mem7_42`},J=a({save:e=>`Save ${e}`,price:`Price`,value:`Value`},{save:e=>`立省 ${e}`,price:`售价`,value:`面值`});function Y({voucher:e,tag:t,children:n}){let r=J(),{money:i}=m(),a=e.faceValue-e.payValue;return(0,V.jsxs)(`div`,{className:q.head,children:[(0,V.jsx)(`p`,{className:q.tag,children:t}),e.subTitle!==null&&(0,V.jsx)(`p`,{className:q.sub,dir:`auto`,children:e.subTitle}),(0,V.jsxs)(`p`,{className:q.price,children:[(0,V.jsx)(`span`,{className:`visually-hidden`,children:r.price}),(0,V.jsx)(`strong`,{children:i(e.payValue)}),(0,V.jsx)(`span`,{className:`visually-hidden`,children:r.value}),(0,V.jsx)(`s`,{children:i(e.faceValue)}),a>0&&(0,V.jsx)(`span`,{className:q.save,children:r.save(i(a))})]}),n]})}export{K as n,U as r,Y as t};