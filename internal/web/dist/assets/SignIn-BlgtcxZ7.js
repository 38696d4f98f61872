import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{a as t,n}from"./preload-helper-Chrg9qMa.js";import{b as r,l as i,o as a,t as o,y as s}from"./Screen-DdURs_yY.js";import{r as c}from"./errors-C_u5kzCD.js";import{D as l,E as u,_ as d}from"./app-C4XoSTH6.js";import{n as f}from"./clock-CtZaacjU.js";import{a as p,t as m}from"./session-zqIz0r0r.js";import{n as h}from"./toast-ZrJXNZZ4.js";import{t as g}from"./document-bm9CNBvx.js";var _=e(t(),1);async function v(e){try{let t=await fetch(`/demo/logins`,{signal:e});if(!t.ok)return[];let{logins:n}=await t.json();return n}catch{return[]}}var y=g(`022dc8a5e8763002363e3cd5da1d24afd55ef88f925e23e19f32e8b51263ee34`,`mutation SendLoginCode($phone: String!) {
  sendLoginCode(phone: $phone) {
    expiresInSeconds
    userErrors {
      ...Refused
      __typename
    }
    __typename
  }
}
fragment Refused on UserError {
  code
  message
  field
  __typename
}`),b=g(`99beab0d6d0e75e70973ee2f6d5ea549b6978d6fbc5ec9bea25e6d653d02f1ce`,`mutation Login($input: LoginInput!) {
  login(input: $input) {
    token
    user {
      id
      nickname
      role
      __typename
    }
    userErrors {
      ...Refused
      __typename
    }
    __typename
  }
}
fragment Refused on UserError {
  code
  message
  field
  __typename
}`),x={form:`_form_1t7x4_1`,error:`_error_1t7x4_12`,demo:`_demo_1t7x4_16`,buttons:`_buttons_1t7x4_24`},S=n(),C=i({title:`Sign in`,intro:`A phone that is new here gets an account.`,phone:`Phone`,phoneHint:`With its country code, as in +44 7700 900123, or 11 digits in mainland China.`,send:`Send code`,again:e=>`Send again in ${e} s`,sent:`The code is on its way.`,code:`Code`,codeHint:`Six digits, good for five minutes.`,password:`Password`,usePassword:`Use a password instead`,useCode:`Use a code instead`,go:`Sign in`,welcome:e=>`Hello, ${e}!`,demo:`Just looking? Sign in as`,CUSTOMER:`a customer`,MERCHANT:`a merchant`,ADMIN:`the administrator`},{title:`登录`,intro:`新手机号将自动注册。`,phone:`手机号`,phoneHint:`11 位大陆手机号，或带国家代码，如 +44 7700 900123。`,send:`获取验证码`,again:e=>`${e} 秒后可重新获取`,sent:`验证码已发送。`,code:`验证码`,codeHint:`六位数字，五分钟内有效。`,password:`密码`,usePassword:`用密码登录`,useCode:`用验证码登录`,go:`登录`,welcome:e=>`你好，${e}！`,demo:`随便看看？试试以这些身份登录`,CUSTOMER:`顾客`,MERCHANT:`商家`,ADMIN:`管理员`}),w=60;function T(){let e=C(),t=p(),[,n]=s(),[i]=r(),g=c(),[v,T]=l(y,{say:!1}),[O,k]=l(b,{say:!1}),[A,j]=(0,_.useState)(!1),[M,N]=(0,_.useState)(``),[P,F]=(0,_.useState)(``),[I,L]=(0,_.useState)(-1/0),[R,z]=(0,_.useState)([]),B=f(),V=Math.ceil(I+w-B),H=D(i.get(`to`));(0,_.useEffect)(()=>{t!==null&&n(H,{replace:!0})},[t,H,n]);let U=async t=>{let n=await O({input:t});z(n.ok?[]:n.refusals);let{token:r,user:i}=n.value??{};r&&i&&(h(e.welcome(i.nickname)),m({token:r,userId:i.id}))},W=async()=>{F(``);let t=await v({phone:M});z(t.ok?[]:t.refusals),t.ok&&(L(B),h(e.sent))},G=e=>{e.preventDefault(),U(A?{phone:M,password:P}:{phone:M,code:P.trim()})},K=(...e)=>{let t=e.map(e=>u(R,e)).find(Boolean);return t&&g(t)},q=R.filter(({field:e})=>!e?.some(e=>[`phone`,`code`,`password`].includes(e)));return(0,S.jsxs)(o,{title:e.title,up:`/`,children:[(0,S.jsxs)(`form`,{className:x.form,onSubmit:G,children:[(0,S.jsx)(`p`,{children:e.intro}),(0,S.jsx)(d,{label:e.phone,hint:e.phoneHint,error:K(`phone`),type:`tel`,inputMode:`tel`,autoComplete:`tel`,required:!0,value:M,onChange:e=>N(e.target.value)}),A?(0,S.jsx)(d,{label:e.password,error:K(`password`),type:`password`,autoComplete:`current-password`,required:!0,value:P,onChange:e=>F(e.target.value)},`password`):(0,S.jsxs)(S.Fragment,{children:[(0,S.jsx)(a,{kind:`quiet`,busy:T,disabled:V>0||M.trim()===``,onClick:W,children:V>0?e.again(V):e.send}),(0,S.jsx)(d,{label:e.code,hint:e.codeHint,error:K(`code`),inputMode:`numeric`,autoComplete:`one-time-code`,pattern:`[0-9 ]{6,}`,required:!0,value:P,onChange:e=>F(e.target.value)},`code`)]}),q.map(e=>(0,S.jsx)(`p`,{role:`alert`,className:x.error,children:g(e)},e.code)),(0,S.jsx)(a,{type:`submit`,wide:!0,busy:k,children:e.go}),(0,S.jsx)(a,{kind:`plain`,onClick:()=>{j(!A),F(``),z([])},children:A?e.useCode:e.usePassword})]}),(0,S.jsx)(E,{onChoose:({phone:e,password:t})=>void U({phone:e,password:t})})]})}function E({onChoose:e}){let t=C(),[n,r]=(0,_.useState)([]);return(0,_.useEffect)(()=>{let e=new AbortController;return v(e.signal).then(r),()=>e.abort()},[]),n.length===0?null:(0,S.jsxs)(`section`,{className:x.demo,children:[(0,S.jsx)(`h2`,{children:t.demo}),(0,S.jsx)(`div`,{className:x.buttons,children:n.map(n=>(0,S.jsx)(a,{kind:`quiet`,onClick:()=>e(n),children:t[n.role]},n.role))})]})}function D(e){return e!==null&&/^\/(?![/\\])/.test(e)?e:`/`}export{T as SignIn};