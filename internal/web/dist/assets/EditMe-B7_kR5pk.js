import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{r as t}from"./shrink-CrSm6E1C.js";import{i as n,l as r}from"./preload-helper-DXbBgPnf.js";import{S as i,s as a,t as o,u as s}from"./Screen-Dmve7E8x.js";import{t as c}from"./useAsk-Bqz0_vO1.js";import{_ as l,b as u,g as d,j as f,k as p,v as m,y as h}from"./app-THnl5AKj.js";import{a as g,i as _,r as v}from"./number-D-VotwMv.js";import{t as y}from"./upload-D2b0Q7PT.js";import{s as b}from"./written-D1aHhCMN.js";import{n as x}from"./toast--XnaLTgW.js";import{t as S}from"./document-D_a4HVPm.js";var C=e(r(),1),w=S(`6c80993563cc7843609f4dddd0677285e661fa6e9302de4e3c45a33250d1b693`,`query MyProfile {
  me {
    ...MyProfile
    __typename
  }
}
fragment MyProfile on User {
  id
  nickname
  avatarUrl
  city
  bio
  gender
  birthday
  __typename
}`),T=S(`0d47a5fd94ba94f6a279cc15a40f3cef08179f3321a3dfec1534a1aea354faa4`,`mutation UpdateProfile($input: UpdateProfileInput!) {
  updateProfile(input: $input) {
    user {
      ...MyProfile
      __typename
    }
    userErrors {
      ...Refused
      __typename
    }
    __typename
  }
}
fragment MyProfile on User {
  id
  nickname
  avatarUrl
  city
  bio
  gender
  birthday
  __typename
}
fragment Refused on UserError {
  code
  message
  field
  __typename
}`),E=S(`fc7a954d85b21f3cea97868e35efcb609138fc833079594b5209fea22961e9bd`,`mutation SetPassword($password: String!) {
  setPassword(password: $password) {
    user {
      id
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
}`),D={forms:`_forms_1hi1g_1`,avatar:`_avatar_1hi1g_6`,buttons:`_buttons_1hi1g_12`,password:`_password_1hi1g_28`,why:`_why_1hi1g_33`},O=n(),k=s({title:`Edit profile`,change:`Choose a picture`,uploading:`Uploading the picture`,remove:`Remove the picture`,nickname:`Nickname`,nicknameBounds:`1 to 30 characters.`,city:`City`,cityBounds:`At most 40 characters.`,bio:`About you`,bioBounds:`At most 200 characters.`,gender:`Gender`,UNSPECIFIED:`Not said`,FEMALE:`Female`,MALE:`Male`,birthday:`Birthday`,birthdayBounds:`A day from 1900 to today.`,save:`Save`,saved:`Saved.`,password:`Password`,passwordWhy:`With a password you can sign in without a code. Other devices are signed out.`,newPassword:`New password`,passwordBounds:`8 to 128 characters.`,setPassword:`Set password`,passwordSet:`The password is set.`},{title:`编辑资料`,change:`更换头像`,uploading:`正在上传图片`,remove:`移除头像`,nickname:`昵称`,nicknameBounds:`1 到 30 个字符。`,city:`城市`,cityBounds:`最多 40 个字符。`,bio:`个人简介`,bioBounds:`最多 200 个字符。`,gender:`性别`,UNSPECIFIED:`不透露`,FEMALE:`女`,MALE:`男`,birthday:`生日`,birthdayBounds:`1900 年至今的日期。`,save:`保存`,saved:`已保存。`,password:`密码`,passwordWhy:`设置密码后，无需验证码即可登录。其他设备将退出登录。`,newPassword:`新密码`,passwordBounds:`8 到 128 个字符。`,setPassword:`设置密码`,passwordSet:`密码已设置。`});function A(){let e=k(),[{data:t,error:n},r]=c({query:w,variables:{},requestPolicy:`network-only`,catchUp:!1});return(0,O.jsx)(o,{title:e.title,up:`/me`,children:t?.me?(0,O.jsxs)(`div`,{className:D.forms,children:[(0,O.jsx)(M,{me:t.me}),(0,O.jsx)(N,{})]}):n?(0,O.jsx)(d,{error:n,again:()=>r({requestPolicy:`network-only`})}):(0,O.jsx)(l,{shape:`text`,count:4})})}var j=[`UNSPECIFIED`,`FEMALE`,`MALE`];function M({me:e}){let n=k(),[,r]=i(),[o,s]=p(T,{say:!1}),[c,l]=y(),d=l!==null,S=(0,C.useRef)(null),[w,E]=(0,C.useState)([]),A=g(w),[M,N]=(0,C.useState)(e.avatarUrl),[P,F]=(0,C.useState)(e.nickname),[I,L]=(0,C.useState)(e.city??``),[R,z]=(0,C.useState)(e.bio??``),[B,V]=(0,C.useState)(e.gender??`UNSPECIFIED`),[H,U]=(0,C.useState)(e.birthday??``),W=async e=>{if(S.current&&(S.current.value=``),!e)return;let t=await c(e);t&&N(t.url)},G=async()=>{let t=await o({input:{...P===e.nickname?{}:{nickname:P.trim()},...M===e.avatarUrl?{}:{avatarUrl:M},...I===(e.city??``)?{}:{city:b(I)},...R===(e.bio??``)?{}:{bio:b(R)},...B===(e.gender??`UNSPECIFIED`)?{}:{gender:B},...H===(e.birthday??``)?{}:{birthday:b(H)}}});E(t.ok?[]:t.refusals),t.ok&&(x(n.saved),r(`/me`))};return(0,O.jsxs)(v,{label:n.title,refusals:w,fields:[`nickname`,`avatarUrl`,`city`,`bio`,`gender`,`birthday`],onSubmit:()=>void G(),children:[(0,O.jsxs)(`div`,{className:D.avatar,children:[(0,O.jsx)(f,{user:{nickname:P||e.nickname,avatarUrl:M},size:88}),(0,O.jsxs)(`div`,{className:D.buttons,children:[(0,O.jsx)(`input`,{ref:S,type:`file`,hidden:!0,accept:`image/jpeg,image/png,image/webp`,"aria-label":n.change,"data-input":`avatar`,onChange:e=>void W(e.target.files?.[0])}),(0,O.jsxs)(a,{kind:`quiet`,small:!0,busy:d,onClick:()=>S.current?.click(),children:[!d&&(0,O.jsx)(t,{"aria-hidden":`true`,size:18}),` `,n.change]}),M!==null&&(0,O.jsx)(a,{kind:`plain`,small:!0,onClick:()=>N(null),children:n.remove}),d&&(0,O.jsx)(`progress`,{"aria-label":n.uploading,max:1,value:l}),A(`avatarUrl`)&&(0,O.jsx)(`p`,{role:`alert`,children:A(`avatarUrl`)})]})]}),(0,O.jsx)(h,{label:n.nickname,error:A(`nickname`,n.nicknameBounds),longest:30,autoComplete:`nickname`,value:P,onChange:e=>F(e.target.value)}),(0,O.jsx)(m,{label:n.bio,error:A(`bio`,n.bioBounds),longest:200,value:R,onChange:e=>z(e.target.value)}),(0,O.jsx)(h,{label:n.city,error:A(`city`,n.cityBounds),longest:40,autoComplete:`address-level2`,value:I,onChange:e=>L(e.target.value)}),(0,O.jsxs)(_,{children:[(0,O.jsx)(u,{label:n.gender,error:A(`gender`),children:e=>(0,O.jsx)(`select`,{...e,value:B,onChange:e=>V(e.target.value),children:j.map(e=>(0,O.jsx)(`option`,{value:e,children:n[e]},e))})}),(0,O.jsx)(h,{label:n.birthday,error:A(`birthday`,n.birthdayBounds),type:`date`,autoComplete:`bday`,value:H,onChange:e=>U(e.target.value)})]}),(0,O.jsx)(a,{type:`submit`,wide:!0,busy:s||d,children:n.save})]})}function N(){let e=k(),[t,n]=p(E,{say:!1}),[r,i]=(0,C.useState)(``),[o,s]=(0,C.useState)([]),c=g(o),l=async()=>{let n=await t({password:r});s(n.ok?[]:n.refusals),n.ok&&(i(``),x(e.passwordSet))};return(0,O.jsxs)(`section`,{className:D.password,"aria-labelledby":`password`,children:[(0,O.jsx)(`h2`,{id:`password`,children:e.password}),(0,O.jsx)(`p`,{className:D.why,children:e.passwordWhy}),(0,O.jsxs)(v,{label:e.password,refusals:o,fields:[`password`],onSubmit:()=>void l(),children:[(0,O.jsx)(h,{label:e.newPassword,hint:e.passwordBounds,error:c(`password`,e.passwordBounds),type:`password`,autoComplete:`new-password`,required:!0,value:r,onChange:e=>i(e.target.value)}),(0,O.jsx)(a,{type:`submit`,kind:`quiet`,wide:!0,busy:n,children:e.setPassword})]})]})}export{A as EditMe};