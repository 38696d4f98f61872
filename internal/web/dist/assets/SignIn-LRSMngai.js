import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{i as t,l as n,r}from"./preload-helper-DXbBgPnf.js";import{g as i,h as a,i as o,t as s,u as c}from"./Button-BJNnZ8XN.js";import{r as l}from"./errors-CWz5aWUu.js";import{n as u,t as d}from"./useApiMutation-fQMMxfHh.js";import{n as f}from"./clock-BsYt33P9.js";import{a as p,r as m}from"./Form-DKVLoJqR.js";import{t as h}from"./number-DXUy5JpJ.js";import{t as g}from"./demo-CMf_6jcf.js";import{t as _}from"./returnPath-CGi25nDj.js";import{a as v,t as y}from"./session-JQV9-zIN.js";import{D as b,d as x}from"./app-B0ZPWHu3.js";import{n as S}from"./toast--XnaLTgW.js";import{t as C}from"./document-D_a4HVPm.js";var w=e(n(),1),T=C(`c8e0a584448bf508f91c06c7fbfb2acaecd8b2dc271b6f002156316ed8e4e246`,`mutation SendLoginCode($phone: String!) {
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
  retryAfterSeconds
  __typename
}`),E=C(`7684c625320238264abf7e2e0c76276f31fe5e42b7d07efbd99f6453cd962b1c`,`mutation Login($input: LoginInput!) {
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
  retryAfterSeconds
  __typename
}`),D={form:`_form_1drw5_1`,error:`_error_1drw5_12`,demo:`_demo_1drw5_16`,buttons:`_buttons_1drw5_24`,settings:`_settings_1drw5_31`},O=t(),k=o({title:`Sign in`,intro:`New here? We’ll create your account.`,phone:`Phone number`,phoneHint:`With country code, e.g. +44 7700 900123, or 11 digits in mainland China.`,send:`Send code`,again:e=>`Resend in ${e} s`,sent:`Code sent.`,code:`Code`,codeHint:`6 digits, valid for 5 minutes.`,codeBounds:`Enter the 6-digit code.`,password:`Password`,usePassword:`Use a password instead`,useCode:`Use a code instead`,go:`Sign in`,welcome:e=>`Welcome, ${e}!`,settings:`Language and theme`,demo:`Try the demo as`,CUSTOMER:`Customer`,MERCHANT:`Merchant`,ADMIN:`Admin`},{title:`登录`,intro:`未注册的手机号将自动创建账号。`,phone:`手机号`,phoneHint:`11 位中国大陆手机号，或带国家代码的号码，如 +44 7700 900123。`,send:`获取验证码`,again:e=>`${e} 秒后可重新获取`,sent:`验证码已发送。`,code:`验证码`,codeHint:`6 位数字，5 分钟内有效。`,codeBounds:`请输入 6 位验证码。`,password:`密码`,usePassword:`用密码登录`,useCode:`用验证码登录`,go:`登录`,welcome:e=>`你好，${e}！`,settings:`语言与外观`,demo:`选择演示身份登录`,CUSTOMER:`顾客`,MERCHANT:`商家`,ADMIN:`管理员`}),A=60;function j(){let e=k(),t=v(),[,n]=a(),[o]=i(),g=l(),[C,j]=d(T,{toastErrors:!1}),[N,P]=d(E,{toastErrors:!1}),[F,I]=(0,w.useState)(!1),[L,R]=(0,w.useState)(``),[z,B]=(0,w.useState)(``),[V,H]=(0,w.useState)(-1/0),[U,W]=(0,w.useState)([]),G=p(U),K=f(),q=Math.ceil(V+A-K),J=_(o.get(`to`),window.location.origin);(0,w.useEffect)(()=>{t!==null&&n(J,{replace:!0})},[t,J,n]);let Y=async t=>{let n=await N({input:t});W(n.ok?[]:n.userErrors);let{token:i,user:a}=n.value??{};i&&a&&(S(e.welcome(r(a.nickname))),y({token:i,userId:a.id}))},X=async()=>{B(``);let t=await C({phone:L});W(t.ok?[]:t.userErrors),t.ok&&(H(K),S(e.sent),G.current?.querySelector(`[name=code]`)?.focus())},Z=e=>{if(e.preventDefault(),F){Y({phone:L,password:z});return}let t=h(z);t?.length===6?Y({phone:L,code:t}):W([m(`code`)])},Q=(...e)=>{let t=e.map(e=>u(U,e)).find(Boolean);return t&&g(t)},$=U.filter(({field:e})=>!e?.some(e=>[`phone`,`code`,`password`].includes(e)));return(0,O.jsxs)(x,{title:e.title,backTo:`/`,children:[(0,O.jsxs)(`form`,{ref:G,className:D.form,onSubmit:Z,children:[(0,O.jsx)(`p`,{children:e.intro}),(0,O.jsx)(b,{label:e.phone,hint:e.phoneHint,error:Q(`phone`),type:`tel`,inputMode:`tel`,autoComplete:`tel`,required:!0,value:L,onChange:e=>R(e.target.value)}),F?(0,O.jsx)(b,{label:e.password,error:Q(`password`),type:`password`,autoComplete:`current-password`,required:!0,value:z,onChange:e=>B(e.target.value)},`password`):(0,O.jsxs)(O.Fragment,{children:[(0,O.jsx)(s,{kind:`quiet`,busy:j,disabled:q>0||L.trim()===``,onClick:X,children:q>0?e.again(q):e.send}),(0,O.jsx)(b,{name:`code`,label:e.code,hint:e.codeHint,error:u(U,`code`)?.code===`INVALID_INPUT`?e.codeBounds:Q(`code`),inputMode:`numeric`,autoComplete:`one-time-code`,required:!0,value:z,onChange:e=>B(e.target.value)},`code`)]}),$.map(e=>(0,O.jsx)(`p`,{role:`alert`,className:D.error,children:g(e)},e.code)),(0,O.jsx)(s,{type:`submit`,wide:!0,busy:P,children:e.go}),(0,O.jsx)(s,{kind:`plain`,onClick:()=>{I(!F),B(``),W([])},children:F?e.useCode:e.usePassword})]}),(0,O.jsx)(`p`,{className:D.settings,children:(0,O.jsx)(c,{href:`/settings`,children:e.settings})}),(0,O.jsx)(M,{onChoose:({phone:e,password:t})=>void Y({phone:e,password:t})})]})}function M({onChoose:e}){let t=k(),[n,r]=(0,w.useState)([]);return(0,w.useEffect)(()=>{let e=new AbortController;return g(e.signal).then(r),()=>e.abort()},[]),n.length===0?null:(0,O.jsxs)(`section`,{className:D.demo,children:[(0,O.jsx)(`h2`,{children:t.demo}),(0,O.jsx)(`div`,{className:D.buttons,children:n.map(n=>(0,O.jsx)(s,{kind:`quiet`,onClick:()=>e(n),children:t[n.role]},n.role))})]})}export{j as SignIn};