import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{r as t}from"./prepareImage-D65wNTfe.js";import{i as n,l as r,r as i}from"./preload-helper-DXbBgPnf.js";import{h as a,i as o,t as s}from"./Button-BJNnZ8XN.js";import{t as c}from"./useApiQuery-DhNs3sUT.js";import{n as l,t as u}from"./useApiMutation-fQMMxfHh.js";import{i as d,n as f,r as p,t as m}from"./Form-DKVLoJqR.js";import{t as h}from"./useUpload-BKMLxyqZ.js";import{l as g}from"./fieldFormat-CpYQQVrS.js";import{D as _,E as v,L as y,O as b,T as x,d as S,k as C}from"./app-B0ZPWHu3.js";import{n as w}from"./toast--XnaLTgW.js";import{t as T}from"./document-D_a4HVPm.js";import{n as E}from"./clock-BsYt33P9.js";import{t as D}from"./number-DXUy5JpJ.js";import{t as O}from"./format-scrNEY_u.js";var k=e(r(),1),A=T(`6c80993563cc7843609f4dddd0677285e661fa6e9302de4e3c45a33250d1b693`,`query MyProfile {
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
}`),j=T(`cce8b2d4c7b3d9574c5b75cf4648a5b254d42556765120293bfe99100767866a`,`mutation UpdateProfile($input: UpdateProfileInput!) {
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
  retryAfterSeconds
  __typename
}`),M={forms:`_forms_7sq8w_1`,avatar:`_avatar_7sq8w_6`,buttons:`_buttons_7sq8w_12`,password:`_password_7sq8w_28`,why:`_why_7sq8w_33`,sessions:`_sessions_7sq8w_40`,session:`_session_7sq8w_40`},N=T(`0f8307f098f97148785af7200947f6c6d7959d3586d35aa9fb6be913b656b147`,`mutation SetPassword($password: String!, $currentPassword: String, $code: String) {
  setPassword(password: $password, currentPassword: $currentPassword, code: $code) {
    user {
      ...MySessions
      __typename
    }
    userErrors {
      ...Refused
      __typename
    }
    __typename
  }
}
fragment MySessions on User {
  id
  sessions {
    id
    createdAt
    lastUsedAt
    isCurrent
    device
    __typename
  }
  __typename
}
fragment Refused on UserError {
  code
  message
  field
  retryAfterSeconds
  __typename
}`),P=T(`42877fbc361d85ad5aee2f7c17c7c91665ac856c2e73b5eb75e5ee175e442275`,`mutation SendPasswordCode($phone: String!) {
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
}`),F=n(),I=o({password:`Password`,why:`Set a password to sign in without a code. Your other devices will be signed out.`,current:`Current password`,currentWrong:`Wrong password, or too many attempts. Try again, or use a code.`,useCode:`Use a code instead`,usePassword:`Use your current password instead`,phone:`Your phone number`,send:`Send code`,again:e=>`Resend in ${e} s`,sent:`Code sent.`,code:`Code`,codeBounds:`Enter the 6-digit code.`,newPassword:`New password`,bounds:`8 to 128 characters. Don’t use a common password or a phone number.`,set:`Set password`,done:`Password set.`},{password:`密码`,why:`设置密码后，无需验证码即可登录。其他设备将退出登录。`,current:`当前密码`,currentWrong:`当前密码不正确，或尝试次数过多。请重试或使用验证码。`,useCode:`改用验证码`,usePassword:`改用当前密码`,phone:`你的手机号`,send:`获取验证码`,again:e=>`${e} 秒后可重新获取`,sent:`验证码已发送。`,code:`验证码`,codeBounds:`请输入 6 位验证码。`,newPassword:`新密码`,bounds:`8 到 128 个字符，不能是常见密码或手机号。`,set:`设置密码`,done:`密码已设置。`}),L=60;function R(){let e=I(),[t,n]=u(N,{toastErrors:!1}),[r,i]=u(P,{toastErrors:!1}),[a,o]=(0,k.useState)(!1),[c,f]=(0,k.useState)(``),[h,g]=(0,k.useState)(``),[v,y]=(0,k.useState)(``),[b,x]=(0,k.useState)(-1/0),[S,C]=(0,k.useState)([]),T=d(S),O=E(),A=Math.ceil(b+L-O),j=e=>{o(e),f(``)},R=async()=>{let t=await r({phone:h});C(t.ok?[]:t.userErrors),t.ok&&(x(O),w(e.sent))},z=async()=>{let n=D(c);if(a&&n?.length!==6){C([p(`code`)]);return}let r=await t({password:v,...a?{code:n}:{currentPassword:c}});C(r.ok?[]:r.userErrors),r.ok?(y(``),f(``),w(e.done)):!a&&l(r.userErrors,`code`)&&j(!0)};return(0,F.jsxs)(`section`,{className:M.password,"aria-labelledby":`password`,children:[(0,F.jsx)(`h2`,{id:`password`,children:e.password}),(0,F.jsx)(`p`,{className:M.why,children:e.why}),(0,F.jsxs)(m,{label:e.password,userErrors:S,fields:[`password`,`currentPassword`,`code`,...a?[`phone`]:[]],onSubmit:()=>void z(),children:[a?(0,F.jsxs)(F.Fragment,{children:[(0,F.jsx)(_,{label:e.phone,error:T(`phone`),type:`tel`,inputMode:`tel`,autoComplete:`tel`,value:h,onChange:e=>g(e.target.value)}),(0,F.jsx)(s,{kind:`quiet`,busy:i,disabled:A>0||h.trim()===``,onClick:()=>void R(),children:A>0?e.again(A):e.send}),(0,F.jsx)(_,{label:e.code,error:T(`code`,e.codeBounds),inputMode:`numeric`,autoComplete:`one-time-code`,value:c,onChange:e=>f(e.target.value)},`code`)]}):(0,F.jsx)(_,{label:e.current,error:T(`currentPassword`)&&e.currentWrong,type:`password`,autoComplete:`current-password`,value:c,onChange:e=>f(e.target.value)},`current`),(0,F.jsx)(s,{kind:`plain`,onClick:()=>j(!a),children:a?e.usePassword:e.useCode}),(0,F.jsx)(_,{label:e.newPassword,hint:e.bounds,error:T(`password`,e.bounds),type:`password`,autoComplete:`new-password`,required:!0,value:v,onChange:e=>y(e.target.value)}),(0,F.jsx)(s,{type:`submit`,kind:`quiet`,wide:!0,busy:n,children:e.set})]})]})}var z=T(`ce04314b01fe230fe16b2b21574573febc88031431bc718c5bd3fe56fe001928`,`query MySessions {
  me {
    ...MySessions
    __typename
  }
}
fragment MySessions on User {
  id
  sessions {
    id
    createdAt
    lastUsedAt
    isCurrent
    device
    __typename
  }
  __typename
}`),B=T(`e9f6e77a5346f7ae01522b65cf7b78d0bf78dca4d72e82527c6f5362f38412b9`,`mutation EndSession($id: ID!) {
  endSession(id: $id) {
    user {
      ...MySessions
      __typename
    }
    userErrors {
      ...Refused
      __typename
    }
    __typename
  }
}
fragment MySessions on User {
  id
  sessions {
    id
    createdAt
    lastUsedAt
    isCurrent
    device
    __typename
  }
  __typename
}
fragment Refused on UserError {
  code
  message
  field
  retryAfterSeconds
  __typename
}`),V=T(`f5f34f694ff77f3a4d15c1caef7ed5a71a6c2827636953d720ce448cfdefe889`,`mutation EndOtherSessions {
  endOtherSessions {
    user {
      ...MySessions
      __typename
    }
    userErrors {
      ...Refused
      __typename
    }
    __typename
  }
}
fragment MySessions on User {
  id
  sessions {
    id
    createdAt
    lastUsedAt
    isCurrent
    device
    __typename
  }
  __typename
}
fragment Refused on UserError {
  code
  message
  field
  retryAfterSeconds
  __typename
}`),H=o({sessions:`Signed-in devices`,unknown:`Unknown device`,here:`This device`,used:e=>`Last used ${e}`,end:`Sign out`,endNamed:e=>`Sign out ${e}`,endOthers:`Sign out all other devices`,ended:`Signed out.`},{sessions:`已登录的设备`,unknown:`未知设备`,here:`本设备`,used:e=>`最近使用：${e}`,end:`退出登录`,endNamed:e=>`退出 ${e} 的登录`,endOthers:`退出其他所有设备`,ended:`已退出登录。`});function U(){let e=H(),{ago:t}=O(),[{data:n,error:r},a]=c({query:z,variables:{},requestPolicy:`cache-and-network`}),[o,l]=u(B),[d,f]=u(V),p=n?.me?.sessions,m=async t=>{(await o({id:t})).ok?w(e.ended):a({requestPolicy:`network-only`})},h=async()=>{(await d({})).ok&&w(e.ended)};return(0,F.jsxs)(`section`,{className:M.password,"aria-labelledby":`sessions`,children:[(0,F.jsx)(`h2`,{id:`sessions`,children:e.sessions}),p?(0,F.jsxs)(F.Fragment,{children:[(0,F.jsx)(`ul`,{className:M.sessions,children:p.map(({id:n,device:r,isCurrent:a,lastUsedAt:o})=>(0,F.jsxs)(`li`,{className:M.session,children:[(0,F.jsxs)(`div`,{children:[(0,F.jsx)(`p`,{children:i(r??e.unknown)}),(0,F.jsx)(`p`,{className:M.why,children:a?e.here:e.used(t(o))})]}),!a&&(0,F.jsx)(s,{kind:`plain`,small:!0,busy:l,"aria-label":e.endNamed(r??e.unknown),onClick:()=>void m(n),children:e.end})]},n))}),p.length>1&&(0,F.jsx)(s,{kind:`quiet`,wide:!0,busy:f,onClick:()=>void h(),children:e.endOthers})]}):r?(0,F.jsx)(x,{error:r,onRetry:()=>a({requestPolicy:`network-only`})}):(0,F.jsx)(v,{shape:`text`,count:2})]})}var W=o({title:`Edit profile`,change:`Change photo`,uploading:`Uploading photo`,remove:`Remove photo`,nickname:`Nickname`,nicknameBounds:`Enter 1 to 30 characters.`,city:`City`,cityBounds:`Use at most 40 characters.`,bio:`About you`,bioBounds:`Use at most 200 characters.`,gender:`Gender`,UNSPECIFIED:`Prefer not to say`,FEMALE:`Female`,MALE:`Male`,birthday:`Birthday`,birthdayBounds:`Enter a date from 1900 to today.`,save:`Save`,saved:`Saved.`},{title:`编辑资料`,change:`更换头像`,uploading:`正在上传头像`,remove:`移除头像`,nickname:`昵称`,nicknameBounds:`请输入 1 到 30 个字符。`,city:`城市`,cityBounds:`最多 40 个字符。`,bio:`个人简介`,bioBounds:`最多 200 个字符。`,gender:`性别`,UNSPECIFIED:`不透露`,FEMALE:`女`,MALE:`男`,birthday:`生日`,birthdayBounds:`请选择 1900 年至今的日期。`,save:`保存`,saved:`已保存。`});function G(){let e=W(),[{data:t,error:n},r]=c({query:A,variables:{},requestPolicy:`network-only`,refetchOnResume:!1});return(0,F.jsx)(S,{title:e.title,backTo:`/me`,children:t?.me?(0,F.jsxs)(`div`,{className:M.forms,children:[(0,F.jsx)(q,{me:t.me}),(0,F.jsx)(R,{}),(0,F.jsx)(U,{})]}):n?(0,F.jsx)(x,{error:n,onRetry:()=>r({requestPolicy:`network-only`})}):(0,F.jsx)(v,{shape:`text`,count:4})})}var K=[`UNSPECIFIED`,`FEMALE`,`MALE`];function q({me:e}){let n=W(),[,r]=a(),[i,o]=u(j,{toastErrors:!1}),[c,l]=h(),p=l!==null,v=(0,k.useRef)(null),[x,S]=(0,k.useState)([]),T=d(x),[E,D]=(0,k.useState)(e.avatarUrl),[O,A]=(0,k.useState)(e.nickname),[N,P]=(0,k.useState)(e.city??``),[I,L]=(0,k.useState)(e.bio??``),[R,z]=(0,k.useState)(e.gender??`UNSPECIFIED`),[B,V]=(0,k.useState)(e.birthday??``),H=async e=>{if(v.current&&(v.current.value=``),!e)return;let t=await c(e);t&&D(t.url)},U=async()=>{let t=await i({input:{...O===e.nickname?{}:{nickname:O.trim()},...E===e.avatarUrl?{}:{avatarUrl:E},...N===(e.city??``)?{}:{city:g(N)},...I===(e.bio??``)?{}:{bio:g(I)},...R===(e.gender??`UNSPECIFIED`)?{}:{gender:R},...B===(e.birthday??``)?{}:{birthday:g(B)}}});S(t.ok?[]:t.userErrors),t.ok&&(w(n.saved),r(`/me`))};return(0,F.jsxs)(m,{label:n.title,userErrors:x,fields:[`nickname`,`avatarUrl`,`city`,`bio`,`gender`,`birthday`],onSubmit:()=>void U(),children:[(0,F.jsxs)(`div`,{className:M.avatar,children:[(0,F.jsx)(y,{user:{nickname:O||e.nickname,avatarUrl:E},size:88}),(0,F.jsxs)(`div`,{className:M.buttons,children:[(0,F.jsx)(`input`,{ref:v,type:`file`,hidden:!0,accept:`image/jpeg,image/png,image/webp`,"aria-label":n.change,"data-input":`avatar`,onChange:e=>void H(e.target.files?.[0])}),(0,F.jsxs)(s,{kind:`quiet`,small:!0,busy:p,onClick:()=>v.current?.click(),children:[!p&&(0,F.jsx)(t,{"aria-hidden":`true`,size:18}),` `,n.change]}),E!==null&&(0,F.jsx)(s,{kind:`plain`,small:!0,onClick:()=>D(null),children:n.remove}),p&&(0,F.jsx)(`progress`,{"aria-label":n.uploading,max:1,value:l}),T(`avatarUrl`)&&(0,F.jsx)(`p`,{role:`alert`,children:T(`avatarUrl`)})]})]}),(0,F.jsx)(_,{label:n.nickname,error:T(`nickname`,n.nicknameBounds),limit:30,autoComplete:`nickname`,value:O,onChange:e=>A(e.target.value)}),(0,F.jsx)(C,{label:n.bio,error:T(`bio`,n.bioBounds),limit:200,value:I,onChange:e=>L(e.target.value)}),(0,F.jsx)(_,{label:n.city,error:T(`city`,n.cityBounds),limit:40,autoComplete:`address-level2`,value:N,onChange:e=>P(e.target.value)}),(0,F.jsxs)(f,{children:[(0,F.jsx)(b,{label:n.gender,error:T(`gender`),children:e=>(0,F.jsx)(`select`,{...e,value:R,onChange:e=>z(e.target.value),children:K.map(e=>(0,F.jsx)(`option`,{value:e,children:n[e]},e))})}),(0,F.jsx)(_,{label:n.birthday,error:T(`birthday`,n.birthdayBounds),type:`date`,autoComplete:`bday`,value:B,onChange:e=>V(e.target.value)})]}),(0,F.jsx)(s,{type:`submit`,wide:!0,busy:o||p,children:n.save})]})}export{G as EditMe};