import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{t}from"./image-plus-a8CBsiN6.js";import{a as n,n as r}from"./preload-helper-Chrg9qMa.js";import{l as i,o as a,t as o,y as s}from"./Screen-DdURs_yY.js";import{D as c,_ as l,g as u,h as d,j as f,k as p,m,v as h}from"./app-C_ToAT57.js";import{n as g,r as _,t as v}from"./Form-C-O9OnmU.js";import{t as y}from"./upload-BNnrb3UR.js";import{a as b}from"./written-DHUFrCzV.js";import{n as x}from"./toast-ZrJXNZZ4.js";import{t as S}from"./document-bm9CNBvx.js";var C=e(n(),1),w=S(`6c80993563cc7843609f4dddd0677285e661fa6e9302de4e3c45a33250d1b693`,`query MyProfile {
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
}`),D={forms:`_forms_1bsef_1`,avatar:`_avatar_1bsef_6`,buttons:`_buttons_1bsef_12`,password:`_password_1bsef_23`,why:`_why_1bsef_28`},O=r(),k=i({title:`Edit profile`,change:`Choose a picture`,remove:`Remove the picture`,nickname:`Nickname`,nicknameBounds:`1 to 30 characters.`,city:`City`,cityBounds:`At most 40 characters.`,bio:`About you`,bioBounds:`At most 200 characters.`,gender:`Gender`,UNSPECIFIED:`Not said`,FEMALE:`Female`,MALE:`Male`,birthday:`Birthday`,birthdayBounds:`A day from 1900 to today.`,save:`Save`,saved:`Saved.`,password:`Password`,passwordWhy:`With a password you can sign in without a code. Other devices are signed out.`,newPassword:`New password`,passwordBounds:`8 to 128 characters.`,setPassword:`Set password`,passwordSet:`The password is set.`},{title:`编辑资料`,change:`更换头像`,remove:`移除头像`,nickname:`昵称`,nicknameBounds:`1 到 30 个字符。`,city:`城市`,cityBounds:`最多 40 个字符。`,bio:`个人简介`,bioBounds:`最多 200 个字符。`,gender:`性别`,UNSPECIFIED:`不透露`,FEMALE:`女`,MALE:`男`,birthday:`生日`,birthdayBounds:`1900 年至今的日期。`,save:`保存`,saved:`已保存。`,password:`密码`,passwordWhy:`设置密码后，无需验证码即可登录。其他设备将退出登录。`,newPassword:`新密码`,passwordBounds:`8 到 128 个字符。`,setPassword:`设置密码`,passwordSet:`密码已设置。`});function A(){let e=k(),[{data:t,error:n},r]=f({query:w,variables:{},requestPolicy:`network-only`,catchUp:!1});return(0,O.jsx)(o,{title:e.title,up:`/me`,children:t?.me?(0,O.jsxs)(`div`,{className:D.forms,children:[(0,O.jsx)(M,{me:t.me}),(0,O.jsx)(N,{})]}):n?(0,O.jsx)(m,{error:n,again:()=>r({requestPolicy:`network-only`})}):(0,O.jsx)(d,{shape:`text`,count:4})})}var j=[`UNSPECIFIED`,`FEMALE`,`MALE`];function M({me:e}){let n=k(),[,r]=s(),[i,o]=c(T,{say:!1}),[d,f]=y(),m=(0,C.useRef)(null),[S,w]=(0,C.useState)([]),E=_(S),[A,M]=(0,C.useState)(e.avatarUrl),[N,P]=(0,C.useState)(e.nickname),[F,I]=(0,C.useState)(e.city??``),[L,R]=(0,C.useState)(e.bio??``),[z,B]=(0,C.useState)(e.gender??`UNSPECIFIED`),[V,H]=(0,C.useState)(e.birthday??``),U=async e=>{if(m.current&&(m.current.value=``),!e)return;let t=await d(e);t&&M(t.url)},W=async()=>{let e=await i({input:{nickname:N.trim(),avatarUrl:A,city:b(F),bio:b(L),gender:z,birthday:b(V)}});w(e.ok?[]:e.refusals),e.ok&&(x(n.saved),r(`/me`))};return(0,O.jsxs)(v,{label:n.title,refusals:S,fields:[`nickname`,`avatarUrl`,`city`,`bio`,`gender`,`birthday`],onSubmit:()=>void W(),children:[(0,O.jsxs)(`div`,{className:D.avatar,children:[(0,O.jsx)(p,{user:{nickname:N||e.nickname,avatarUrl:A},size:88}),(0,O.jsxs)(`div`,{className:D.buttons,children:[(0,O.jsx)(`input`,{ref:m,type:`file`,hidden:!0,accept:`image/jpeg,image/png,image/webp`,"aria-label":n.change,"data-input":`avatar`,onChange:e=>void U(e.target.files?.[0])}),(0,O.jsxs)(a,{kind:`quiet`,small:!0,busy:f,onClick:()=>m.current?.click(),children:[!f&&(0,O.jsx)(t,{"aria-hidden":`true`,size:18}),` `,n.change]}),A!==null&&(0,O.jsx)(a,{kind:`plain`,small:!0,onClick:()=>M(null),children:n.remove}),E(`avatarUrl`)&&(0,O.jsx)(`p`,{role:`alert`,children:E(`avatarUrl`)})]})]}),(0,O.jsx)(l,{label:n.nickname,error:E(`nickname`,n.nicknameBounds),maxLength:30,autoComplete:`nickname`,value:N,onChange:e=>P(e.target.value)}),(0,O.jsx)(u,{label:n.bio,error:E(`bio`,n.bioBounds),maxLength:200,value:L,onChange:e=>R(e.target.value)}),(0,O.jsx)(l,{label:n.city,error:E(`city`,n.cityBounds),maxLength:40,autoComplete:`address-level2`,value:F,onChange:e=>I(e.target.value)}),(0,O.jsxs)(g,{children:[(0,O.jsx)(h,{label:n.gender,error:E(`gender`),children:e=>(0,O.jsx)(`select`,{...e,value:z,onChange:e=>B(e.target.value),children:j.map(e=>(0,O.jsx)(`option`,{value:e,children:n[e]},e))})}),(0,O.jsx)(l,{label:n.birthday,error:E(`birthday`,n.birthdayBounds),type:`date`,autoComplete:`bday`,value:V,onChange:e=>H(e.target.value)})]}),(0,O.jsx)(a,{type:`submit`,wide:!0,busy:o||f,children:n.save})]})}function N(){let e=k(),[t,n]=c(E,{say:!1}),[r,i]=(0,C.useState)(``),[o,s]=(0,C.useState)([]),u=_(o),d=async()=>{let n=await t({password:r});s(n.ok?[]:n.refusals),n.ok&&(i(``),x(e.passwordSet))};return(0,O.jsxs)(`section`,{className:D.password,"aria-labelledby":`password`,children:[(0,O.jsx)(`h2`,{id:`password`,children:e.password}),(0,O.jsx)(`p`,{className:D.why,children:e.passwordWhy}),(0,O.jsxs)(v,{label:e.password,refusals:o,fields:[`password`],onSubmit:()=>void d(),children:[(0,O.jsx)(l,{label:e.newPassword,hint:e.passwordBounds,error:u(`password`,e.passwordBounds),type:`password`,autoComplete:`new-password`,required:!0,value:r,onChange:e=>i(e.target.value)}),(0,O.jsx)(a,{type:`submit`,kind:`quiet`,wide:!0,busy:n,children:e.setPassword})]})]})}export{A as EditMe};