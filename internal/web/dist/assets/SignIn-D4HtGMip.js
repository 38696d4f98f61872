import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{a as t,n}from"./preload-helper-Chrg9qMa.js";import{C as r,S as i,_ as a,s as o,t as s,u as c}from"./Screen-CySPHyEf.js";import{r as l}from"./errors-Bh1mlnZ7.js";import{O as u,k as d,y as f}from"./app-Bg9IAqlN.js";import{n as p}from"./clock-2jr6Lkv9.js";import{t as m}from"./demo-CMf_6jcf.js";import{a as h,t as g}from"./session-rGo10Wj6.js";import{n as _}from"./toast-ZrJXNZZ4.js";import{t as v}from"./document-bm9CNBvx.js";var y=e(t(),1),b=v(`022dc8a5e8763002363e3cd5da1d24afd55ef88f925e23e19f32e8b51263ee34`,`mutation SendLoginCode($phone: String!) {
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
}`),x=v(`99beab0d6d0e75e70973ee2f6d5ea549b6978d6fbc5ec9bea25e6d653d02f1ce`,`mutation Login($input: LoginInput!) {
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
}`),S={form:`_form_1drw5_1`,error:`_error_1drw5_12`,demo:`_demo_1drw5_16`,buttons:`_buttons_1drw5_24`,settings:`_settings_1drw5_31`},C=n(),w=c({title:`Sign in`,intro:`A phone that is new here gets an account.`,phone:`Phone`,phoneHint:`With its country code, as in +44 7700 900123, or 11 digits in mainland China.`,send:`Send code`,again:e=>`Send again in ${e} s`,sent:`The code is on its way.`,code:`Code`,codeHint:`Six digits, good for five minutes.`,password:`Password`,usePassword:`Use a password instead`,useCode:`Use a code instead`,go:`Sign in`,welcome:e=>`Hello, ${e}!`,settings:`Language and colours`,demo:`Just looking? Sign in as`,CUSTOMER:`a customer`,MERCHANT:`a merchant`,ADMIN:`the administrator`},{title:`登录`,intro:`新手机号将自动注册。`,phone:`手机号`,phoneHint:`11 位大陆手机号，或带国家代码，如 +44 7700 900123。`,send:`获取验证码`,again:e=>`${e} 秒后可重新获取`,sent:`验证码已发送。`,code:`验证码`,codeHint:`六位数字，五分钟内有效。`,password:`密码`,usePassword:`用密码登录`,useCode:`用验证码登录`,go:`登录`,welcome:e=>`你好，${e}！`,settings:`语言与外观`,demo:`随便看看？试试以这些身份登录`,CUSTOMER:`顾客`,MERCHANT:`商家`,ADMIN:`管理员`}),T=60;function E(){let e=w(),t=h(),[,n]=i(),[c]=r(),m=l(),[v,E]=d(b,{say:!1}),[k,A]=d(x,{say:!1}),[j,M]=(0,y.useState)(!1),[N,P]=(0,y.useState)(``),[F,I]=(0,y.useState)(``),[L,R]=(0,y.useState)(-1/0),[z,B]=(0,y.useState)([]),V=p(),H=Math.ceil(L+T-V),U=O(c.get(`to`));(0,y.useEffect)(()=>{t!==null&&n(U,{replace:!0})},[t,U,n]);let W=async t=>{let n=await k({input:t});B(n.ok?[]:n.refusals);let{token:r,user:i}=n.value??{};r&&i&&(_(e.welcome(i.nickname)),g({token:r,userId:i.id}))},G=async()=>{I(``);let t=await v({phone:N});B(t.ok?[]:t.refusals),t.ok&&(R(V),_(e.sent))},K=e=>{e.preventDefault(),W(j?{phone:N,password:F}:{phone:N,code:F.trim()})},q=(...e)=>{let t=e.map(e=>u(z,e)).find(Boolean);return t&&m(t)},J=z.filter(({field:e})=>!e?.some(e=>[`phone`,`code`,`password`].includes(e)));return(0,C.jsxs)(s,{title:e.title,up:`/`,children:[(0,C.jsxs)(`form`,{className:S.form,onSubmit:K,children:[(0,C.jsx)(`p`,{children:e.intro}),(0,C.jsx)(f,{label:e.phone,hint:e.phoneHint,error:q(`phone`),type:`tel`,inputMode:`tel`,autoComplete:`tel`,required:!0,value:N,onChange:e=>P(e.target.value)}),j?(0,C.jsx)(f,{label:e.password,error:q(`password`),type:`password`,autoComplete:`current-password`,required:!0,value:F,onChange:e=>I(e.target.value)},`password`):(0,C.jsxs)(C.Fragment,{children:[(0,C.jsx)(o,{kind:`quiet`,busy:E,disabled:H>0||N.trim()===``,onClick:G,children:H>0?e.again(H):e.send}),(0,C.jsx)(f,{label:e.code,hint:e.codeHint,error:q(`code`),inputMode:`numeric`,autoComplete:`one-time-code`,pattern:`[0-9 ]{6,}`,required:!0,value:F,onChange:e=>I(e.target.value)},`code`)]}),J.map(e=>(0,C.jsx)(`p`,{role:`alert`,className:S.error,children:m(e)},e.code)),(0,C.jsx)(o,{type:`submit`,wide:!0,busy:A,children:e.go}),(0,C.jsx)(o,{kind:`plain`,onClick:()=>{M(!j),I(``),B([])},children:j?e.useCode:e.usePassword})]}),(0,C.jsx)(`p`,{className:S.settings,children:(0,C.jsx)(a,{href:`/settings`,children:e.settings})}),(0,C.jsx)(D,{onChoose:({phone:e,password:t})=>void W({phone:e,password:t})})]})}function D({onChoose:e}){let t=w(),[n,r]=(0,y.useState)([]);return(0,y.useEffect)(()=>{let e=new AbortController;return m(e.signal).then(r),()=>e.abort()},[]),n.length===0?null:(0,C.jsxs)(`section`,{className:S.demo,children:[(0,C.jsx)(`h2`,{children:t.demo}),(0,C.jsx)(`div`,{className:S.buttons,children:n.map(n=>(0,C.jsx)(o,{kind:`quiet`,onClick:()=>e(n),children:t[n.role]},n.role))})]})}function O(e){return e!==null&&/^\/(?![/\\])/.test(e)?e:`/`}export{E as SignIn};