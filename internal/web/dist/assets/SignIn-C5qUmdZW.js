import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{a as t,n}from"./preload-helper-Chrg9qMa.js";import{C as r,S as i,_ as a,s as o,t as s,u as c}from"./Screen-DN1Y-HZ_.js";import{r as l}from"./errors-DzDCqRf4.js";import{O as u,k as d,y as f}from"./app-C5XjqgC4.js";import{n as p}from"./clock-2jr6Lkv9.js";import{i as m}from"./Form-8fiyXdR8.js";import{t as h}from"./demo-CMf_6jcf.js";import{a as g,t as _}from"./session-ScJtDdtY.js";import{n as v}from"./toast-DI_pCogT.js";import{t as y}from"./document-bm9CNBvx.js";var b=e(t(),1),x=y(`022dc8a5e8763002363e3cd5da1d24afd55ef88f925e23e19f32e8b51263ee34`,`mutation SendLoginCode($phone: String!) {
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
}`),S=y(`99beab0d6d0e75e70973ee2f6d5ea549b6978d6fbc5ec9bea25e6d653d02f1ce`,`mutation Login($input: LoginInput!) {
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
}`),C={form:`_form_1drw5_1`,error:`_error_1drw5_12`,demo:`_demo_1drw5_16`,buttons:`_buttons_1drw5_24`,settings:`_settings_1drw5_31`},w=n(),T=c({title:`Sign in`,intro:`A phone that is new here gets an account.`,phone:`Phone`,phoneHint:`With its country code, as in +44 7700 900123, or 11 digits in mainland China.`,send:`Send code`,again:e=>`Send again in ${e} s`,sent:`The code is on its way.`,code:`Code`,codeHint:`Six digits, good for five minutes.`,password:`Password`,usePassword:`Use a password instead`,useCode:`Use a code instead`,go:`Sign in`,welcome:e=>`Hello, ${e}!`,settings:`Language and colours`,demo:`Just looking? Sign in as`,CUSTOMER:`a customer`,MERCHANT:`a merchant`,ADMIN:`the administrator`},{title:`登录`,intro:`新手机号将自动注册。`,phone:`手机号`,phoneHint:`11 位大陆手机号，或带国家代码，如 +44 7700 900123。`,send:`获取验证码`,again:e=>`${e} 秒后可重新获取`,sent:`验证码已发送。`,code:`验证码`,codeHint:`六位数字，五分钟内有效。`,password:`密码`,usePassword:`用密码登录`,useCode:`用验证码登录`,go:`登录`,welcome:e=>`你好，${e}！`,settings:`语言与外观`,demo:`随便看看？试试以这些身份登录`,CUSTOMER:`顾客`,MERCHANT:`商家`,ADMIN:`管理员`}),E=60;function D(){let e=T(),t=g(),[,n]=i(),[c]=r(),h=l(),[y,D]=d(x,{say:!1}),[A,j]=d(S,{say:!1}),[M,N]=(0,b.useState)(!1),[P,F]=(0,b.useState)(``),[I,L]=(0,b.useState)(``),[R,z]=(0,b.useState)(-1/0),[B,V]=(0,b.useState)([]),H=m(B),U=p(),W=Math.ceil(R+E-U),G=k(c.get(`to`));(0,b.useEffect)(()=>{t!==null&&n(G,{replace:!0})},[t,G,n]);let K=async t=>{let n=await A({input:t});V(n.ok?[]:n.refusals);let{token:r,user:i}=n.value??{};r&&i&&(v(e.welcome(i.nickname)),_({token:r,userId:i.id}))},q=async()=>{L(``);let t=await y({phone:P});V(t.ok?[]:t.refusals),t.ok&&(z(U),v(e.sent),H.current?.querySelector(`[name=code]`)?.focus())},J=e=>{e.preventDefault(),K(M?{phone:P,password:I}:{phone:P,code:I.trim()})},Y=(...e)=>{let t=e.map(e=>u(B,e)).find(Boolean);return t&&h(t)},X=B.filter(({field:e})=>!e?.some(e=>[`phone`,`code`,`password`].includes(e)));return(0,w.jsxs)(s,{title:e.title,up:`/`,children:[(0,w.jsxs)(`form`,{ref:H,className:C.form,onSubmit:J,children:[(0,w.jsx)(`p`,{children:e.intro}),(0,w.jsx)(f,{label:e.phone,hint:e.phoneHint,error:Y(`phone`),type:`tel`,inputMode:`tel`,autoComplete:`tel`,required:!0,value:P,onChange:e=>F(e.target.value)}),M?(0,w.jsx)(f,{label:e.password,error:Y(`password`),type:`password`,autoComplete:`current-password`,required:!0,value:I,onChange:e=>L(e.target.value)},`password`):(0,w.jsxs)(w.Fragment,{children:[(0,w.jsx)(o,{kind:`quiet`,busy:D,disabled:W>0||P.trim()===``,onClick:q,children:W>0?e.again(W):e.send}),(0,w.jsx)(f,{name:`code`,label:e.code,hint:e.codeHint,error:Y(`code`),inputMode:`numeric`,autoComplete:`one-time-code`,pattern:`[0-9 ]{6,}`,required:!0,value:I,onChange:e=>L(e.target.value)},`code`)]}),X.map(e=>(0,w.jsx)(`p`,{role:`alert`,className:C.error,children:h(e)},e.code)),(0,w.jsx)(o,{type:`submit`,wide:!0,busy:j,children:e.go}),(0,w.jsx)(o,{kind:`plain`,onClick:()=>{N(!M),L(``),V([])},children:M?e.useCode:e.usePassword})]}),(0,w.jsx)(`p`,{className:C.settings,children:(0,w.jsx)(a,{href:`/settings`,children:e.settings})}),(0,w.jsx)(O,{onChoose:({phone:e,password:t})=>void K({phone:e,password:t})})]})}function O({onChoose:e}){let t=T(),[n,r]=(0,b.useState)([]);return(0,b.useEffect)(()=>{let e=new AbortController;return h(e.signal).then(r),()=>e.abort()},[]),n.length===0?null:(0,w.jsxs)(`section`,{className:C.demo,children:[(0,w.jsx)(`h2`,{children:t.demo}),(0,w.jsx)(`div`,{className:C.buttons,children:n.map(n=>(0,w.jsx)(o,{kind:`quiet`,onClick:()=>e(n),children:t[n.role]},n.role))})]})}function k(e){return e!==null&&/^\/(?![/\\])/.test(e)?e:`/`}export{D as SignIn};