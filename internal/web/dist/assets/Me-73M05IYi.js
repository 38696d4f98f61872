import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{S as t,_ as n,d as r,f as i,l as a,m as o,p as s,s as c,t as l,u}from"./Screen-CJ1iDuWr.js";import{t as d}from"./chevron-right-CViukWbN.js";import{t as f}from"./clock-7q5DaroX.js";import{L as p,O as m,P as h,R as g,_,g as v,j as y}from"./app-VJxpKxNi.js";import{t as b}from"./scan-line-DmZOA4ws.js";import{t as x}from"./ticket-Bgz6W6uf.js";import{t as S}from"./undo-2-Bw5zjnuc.js";import{i as C,l as w}from"./preload-helper-DXbBgPnf.js";import{t as T}from"./useApiQuery-DhNs3sUT.js";import{a as E,i as D,r as O}from"./session-DRJnfh9f.js";import{n as k}from"./toast--XnaLTgW.js";import{t as A}from"./document-D_a4HVPm.js";var j={name:`badge-check`,size:24,node:[[`path`,{d:`M3.85 8.62a4 4 0 0 1 4.78-4.77 4 4 0 0 1 6.74 0 4 4 0 0 1 4.78 4.78 4 4 0 0 1 0 6.74 4 4 0 0 1-4.77 4.78 4 4 0 0 1-6.75 0 4 4 0 0 1-4.78-4.77 4 4 0 0 1 0-6.76Z`,key:`3c2336`}],[`path`,{d:`m16 9-5.5 5.5L8 12`,key:`xofnsj`}]],aliases:[`verified`]};j.node;var ee=o(j),M={name:`calendar-check`,size:24,node:[[`path`,{d:`M8 2v3`,key:`1ioesn`}],[`path`,{d:`M16 2v3`,key:`otl347`}],[`rect`,{x:`3`,y:`3`,width:`18`,height:`18`,rx:`2`,key:`h1oib`}],[`path`,{d:`M3 9h18`,key:`1pudct`}],[`path`,{d:`m9 15 2 2 4-4`,key:`1grp1n`}]]};M.node;var te=o(M),N={name:`chart-column`,size:24,node:[[`path`,{d:`M3 3v16a2 2 0 0 0 2 2h16`,key:`c24i48`}],[`path`,{d:`M18 17V9`,key:`2bz60n`}],[`path`,{d:`M13 17V5`,key:`1frdt8`}],[`path`,{d:`M8 17v-3`,key:`17ska0`}]],aliases:[`bar-chart-3`]};N.node;var ne=o(N),P={name:`check`,size:24,node:[[`path`,{d:`M20 6 9 17l-5-5`,key:`1gmf2c`}]]};P.node;var F=o(P),I={name:`flame`,size:24,node:[[`path`,{d:`M12 3q1 4 4 6.5t3 5.5a1 1 0 0 1-14 0 5 5 0 0 1 1-3 1 1 0 0 0 5 0c0-2-1.5-3-1.5-5q0-2 2.5-4`,key:`1slcih`}]]};I.node;var re=o(I),L={name:`log-out`,size:24,node:[[`path`,{d:`m16 17 5-5-5-5`,key:`1bji2h`}],[`path`,{d:`M21 12H9`,key:`dn1m92`}],[`path`,{d:`M9 21H5a2 2 0 0 1-2-2V5a2 2 0 0 1 2-2h4`,key:`1uf3rs`}]]};L.node;var ie=o(L),R={name:`notebook-pen`,size:24,node:[[`path`,{d:`M13.4 2H6a2 2 0 0 0-2 2v16a2 2 0 0 0 2 2h12a2 2 0 0 0 2-2v-7.4`,key:`re6nr2`}],[`path`,{d:`M2 6h4`,key:`aawbzj`}],[`path`,{d:`M2 10h4`,key:`l0bgd4`}],[`path`,{d:`M2 14h4`,key:`1gsvsf`}],[`path`,{d:`M2 18h4`,key:`1bu2t1`}],[`path`,{d:`M21.378 5.626a1 1 0 1 0-3.004-3.004l-5.01 5.012a2 2 0 0 0-.506.854l-.837 2.87a.5.5 0 0 0 .62.62l2.87-.837a2 2 0 0 0 .854-.506z`,key:`pqwjuv`}]]};R.node;var z=o(R),B={name:`settings`,size:24,node:[[`path`,{d:`M9.671 4.136a2.34 2.34 0 0 1 4.659 0 2.34 2.34 0 0 0 3.319 1.915 2.34 2.34 0 0 1 2.33 4.033 2.34 2.34 0 0 0 0 3.831 2.34 2.34 0 0 1-2.33 4.033 2.34 2.34 0 0 0-3.319 1.915 2.34 2.34 0 0 1-4.659 0 2.34 2.34 0 0 0-3.32-1.915 2.34 2.34 0 0 1-2.33-4.033 2.34 2.34 0 0 0 0-3.831A2.34 2.34 0 0 1 6.35 6.051a2.34 2.34 0 0 0 3.319-1.915`,key:`1i5ecw`}],[`circle`,{cx:`12`,cy:`12`,r:`3`,key:`1v7zrd`}]]};B.node;var ae=o(B),V={name:`user-pen`,size:24,node:[[`path`,{d:`M11.5 15H7a4 4 0 0 0-4 4v2`,key:`15lzij`}],[`path`,{d:`M21.378 16.626a1 1 0 0 0-3.004-3.004l-4.01 4.012a2 2 0 0 0-.506.854l-.837 2.87a.5.5 0 0 0 .62.62l2.87-.837a2 2 0 0 0 .854-.506z`,key:`1817ys`}],[`circle`,{cx:`10`,cy:`7`,r:`4`,key:`e45bow`}]]};V.node;var oe=o(V),H=e(w(),1),U=A(`85204f46becdb86b014968425946d9ee6bd0b4cd40488c18775ae7286ba232ae`,`query MyCheckIns($month: String) {
  me {
    id
    checkIns(month: $month) {
      ...CheckIns
      __typename
    }
    __typename
  }
}
fragment CheckIns on CheckInMonth {
  month
  days
  count
  streak
  today
  __typename
}`),se=A(`6fc647c5550895e956d72c2080170e2b43cc0bd61071b29b8177ade2f56661c2`,`mutation CheckIn {
  checkIn {
    checkIns {
      ...CheckIns
      __typename
    }
    pointsEarned
    userErrors {
      ...Refused
      __typename
    }
    __typename
  }
}
fragment CheckIns on CheckInMonth {
  month
  days
  count
  streak
  today
  __typename
}
fragment Refused on UserError {
  code
  message
  field
  retryAfterSeconds
  __typename
}`),W={head:`_head_bc8ao_1`,streak:`_streak_bc8ao_9`,month:`_month_bc8ao_20`,calendar:`_calendar_bc8ao_42`,open:`_open_bc8ao_66`,checked:`_checked_bc8ao_67`},G={columns:`_columns_47my5_1`,column:`_column_47my5_1`,card:`_card_47my5_9`,person:`_person_47my5_10`,links:`_links_47my5_11`,identity:`_identity_47my5_23`,names:`_names_47my5_29`,quiet:`_quiet_47my5_36`,role:`_role_47my5_42`,level:`_level_47my5_54`,progress:`_progress_47my5_76`,counts:`_counts_47my5_99`,shortcuts:`_shortcuts_47my5_100`,menuLink:`_menuLink_47my5_127`,heading:`_heading_47my5_132`,all:`_all_47my5_140`,languages:`_languages_47my5_190`},K=C(),q=u({title:`Check-in`,go:`Check in`,done:`Checked in today`,earned:e=>`+${e} points`,already:`You already checked in today.`,streak:e=>`${e}-day streak`,noStreak:`Check in daily for 5 points.`,month:e=>e===1?`1 check-in`:`${e} check-ins`,before:`Previous month`,after:`Next month`,checked:`checked in`,today:`today`},{title:`签到`,go:`签到`,done:`今日已签到`,earned:e=>`积分 +${e}`,already:`今天已经签到过了。`,streak:e=>`已连续签到 ${e} 天`,noStreak:`每天签到可得 5 积分。`,month:e=>`签到 ${e} 天`,before:`上个月`,after:`下个月`,checked:`已签到`,today:`今天`});function ce(){let e=q(),{month:t}=h(),[n,r]=(0,H.useState)(null),[{data:i,error:o},l]=T({query:U,variables:{}}),[{data:u,error:f},p]=T({query:U,variables:{month:n},pause:n===null}),[g,y]=m(se),b=i?.me?.checkIns;if(!b)return(0,K.jsx)(`section`,{className:G.card,"aria-label":e.title,children:o?(0,K.jsx)(v,{error:o,onRetry:()=>l({requestPolicy:`network-only`})}):(0,K.jsx)(_,{shape:`text`,count:3})});let{today:x}=b,S=b.days.some(e=>Y(b.month,e)===x),C=n??b.month,w=u?.me?.checkIns,E=n===null?b:w?.month===n?w:null,D=async()=>{let t=await g({});if(!t.ok)return;let{pointsEarned:n}=t.value;r(null),k(n>0?e.earned(n):e.already)},O=e=>{let t=de(C,e);r(t===b.month?null:t)};return(0,K.jsxs)(`section`,{className:G.card,"aria-labelledby":`check-in`,"data-checked-in":S,"data-streak":b.streak,children:[(0,K.jsxs)(`div`,{className:W.head,children:[(0,K.jsxs)(`div`,{children:[(0,K.jsx)(`h2`,{id:`check-in`,children:e.title}),(0,K.jsxs)(`p`,{className:W.streak,children:[b.streak>0&&(0,K.jsx)(re,{"aria-hidden":`true`,size:18}),b.streak>0?e.streak(b.streak):e.noStreak]})]}),(0,K.jsxs)(c,{kind:S?`quiet`:`primary`,busy:y,onClick:()=>void D(),children:[S?(0,K.jsx)(F,{"aria-hidden":`true`,size:18}):(0,K.jsx)(te,{"aria-hidden":`true`,size:18}),S?e.done:e.go]})]}),(0,K.jsxs)(`div`,{className:W.month,children:[(0,K.jsx)(a,{label:e.before,onClick:()=>O(-1),children:(0,K.jsx)(s,{"aria-hidden":`true`})}),(0,K.jsxs)(`p`,{"aria-live":`polite`,children:[(0,K.jsx)(`strong`,{children:t(C)}),(0,K.jsx)(`span`,{children:E?e.month(E.count):`…`})]}),(0,K.jsx)(a,{label:e.after,disabled:C>=b.month,onClick:()=>O(1),children:(0,K.jsx)(d,{"aria-hidden":`true`})})]}),f&&!E?(0,K.jsx)(v,{error:f,onRetry:()=>p({requestPolicy:`network-only`})}):(0,K.jsx)(le,{month:C,days:E?.days??[],today:x})]})}function le({month:e,days:t,today:n}){let r=q(),{month:a}=h(),o=i()===`zh`?`zh-CN`:`en-GB`,s=new Intl.DateTimeFormat(o,{weekday:`narrow`,timeZone:`UTC`}),c=new Intl.DateTimeFormat(o,{weekday:`long`,timeZone:`UTC`});return(0,K.jsxs)(`table`,{className:W.calendar,"data-month":e,children:[(0,K.jsx)(`caption`,{className:`visually-hidden`,children:a(e)}),(0,K.jsx)(`thead`,{children:(0,K.jsx)(`tr`,{children:J.map(e=>(0,K.jsx)(`th`,{scope:`col`,children:(0,K.jsx)(`abbr`,{title:c.format(e),children:s.format(e)})},e.getTime()))})}),(0,K.jsx)(`tbody`,{children:ue(e).map((i,a)=>(0,K.jsx)(`tr`,{children:i.map((i,a)=>{let o=J[a]?.getTime();if(i===null)return(0,K.jsx)(`td`,{},o);let s=t.includes(i),c=n===Y(e,i);return(0,K.jsx)(`td`,{"data-day":i,"data-checked":s||void 0,children:(0,K.jsxs)(`span`,{className:s?W.checked:W.open,"aria-current":c?`date`:void 0,children:[i,s&&(0,K.jsx)(F,{"aria-hidden":`true`,size:12,strokeWidth:3}),s&&(0,K.jsxs)(`span`,{className:`visually-hidden`,children:[`, `,r.checked]}),c&&(0,K.jsxs)(`span`,{className:`visually-hidden`,children:[`, `,r.today]})]})},o)})},a))})]})}var J=[1,2,3,4,5,6,7].map(e=>new Date(Date.UTC(2024,0,e)));function ue(e){let t=new Date(`${e}-01T00:00:00Z`),n=new Date(Date.UTC(t.getUTCFullYear(),t.getUTCMonth()+1,0)).getUTCDate(),r=(t.getUTCDay()+6)%7;return Array.from({length:Math.ceil((r+n)/7)},(e,t)=>Array.from({length:7},(e,i)=>{let a=t*7+i-r+1;return a>=1&&a<=n?a:null}))}function de(e,t){let n=new Date(`${e}-01T00:00:00Z`);return n.setUTCMonth(n.getUTCMonth()+t),n.toISOString().slice(0,7)}function Y(e,t){return`${e}-${String(t).padStart(2,`0`)}`}var X=[0,100,300,1e3,3e3,1e4,3e4,1e5,3e5,1e6];function fe(e,t){let n=X[e],r=X[e+1];return n===void 0||r===void 0?null:{done:Math.min(r,Math.max(n,t))-n,all:r-n}}var pe=A(`9c4b631fb5174de9040077370f51423f17449c98cc67956a76ea20fa1dac9e67`,`query Me {
  me {
    id
    nickname
    avatarUrl
    phone
    role
    level
    points
    noteCount
    followerCount
    followeeCount
    __typename
  }
}`),me=A(`311f6c91eb4a18ce0b00801eb1da1ef1dbbf78aa4fb58c360852564ce9d5bd61`,`mutation Logout {
  logout {
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
}`),Z=u({title:`Me`,level:e=>`Level ${e}`,points:e=>e===`1`?`1 point`:`${e} points`,more:(e,t)=>`${e===`1`?`1 point`:`${e} points`} to level ${t}`,highest:`Highest level`,notes:`Notes`,followers:`Followers`,followees:`Following`,orders:`My orders`,all:`See all`,UNPAID:`Unpaid`,PAID:`Ready to use`,USED:`Used`,CLOSED:`Closed`,rest:`More`,edit:`Edit profile`,mine:`My notes`,settings:`Settings`,merchant:`My shops`,redeem:`Redeem voucher`,admin:`Admin dashboard`,MERCHANT:`Merchant`,ADMIN:`Admin`,CUSTOMER:``,language:`Language`,signOut:`Sign out`,signedOutOffline:`Signed out on this device. We couldn’t reach the server, so the session will expire on its own.`},{title:`我的`,level:e=>`Lv.${e}`,points:e=>`${e} 积分`,more:(e,t)=>`再得 ${e} 积分升至 Lv.${t}`,highest:`已是最高等级`,notes:`笔记`,followers:`粉丝`,followees:`关注`,orders:`我的订单`,all:`查看全部`,UNPAID:`待付款`,PAID:`待使用`,USED:`已使用`,CLOSED:`已关闭`,rest:`更多`,edit:`编辑资料`,mine:`我的笔记`,settings:`设置`,merchant:`我的店铺`,redeem:`核销代金券`,admin:`管理后台`,MERCHANT:`商家`,ADMIN:`管理员`,CUSTOMER:``,language:`语言`,signOut:`退出登录`,signedOutOffline:`本机已退出登录。未能连接服务器，登录状态将自动失效。`});function Q(){let e=Z(),t=E(),[{data:n,error:r},i]=T({query:pe,variables:{}}),a=n!==void 0&&n.me===null,o=t?.token;return(0,H.useEffect)(()=>{a&&o!==void 0&&D(o)},[a,o]),(0,K.jsx)(l,{title:e.title,action:(0,K.jsx)(ve,{}),children:n?.me?(0,K.jsxs)(`div`,{className:G.columns,children:[(0,K.jsxs)(`div`,{className:G.column,children:[(0,K.jsx)(he,{me:n.me}),(0,K.jsx)(ge,{})]}),(0,K.jsxs)(`div`,{className:G.column,children:[(0,K.jsx)(ce,{}),(0,K.jsx)(_e,{me:n.me})]})]}):r?(0,K.jsx)(v,{error:r,onRetry:()=>i({requestPolicy:`network-only`})}):(0,K.jsx)(_,{shape:`row`,count:4})})}function he({me:e}){let t=Z(),{number:r}=h(),i=fe(e.level,e.points),a=[{to:`/users/${e.id}`,label:t.notes,count:e.noteCount},{to:`/users/${e.id}/followers`,label:t.followers,count:e.followerCount},{to:`/users/${e.id}/followees`,label:t.followees,count:e.followeeCount}];return(0,K.jsxs)(`section`,{className:G.person,"aria-label":e.nickname,children:[(0,K.jsxs)(`div`,{className:G.identity,children:[(0,K.jsx)(y,{user:e,size:76}),(0,K.jsxs)(`div`,{className:G.names,children:[(0,K.jsx)(`h2`,{dir:`auto`,children:e.nickname}),e.phone!==null&&(0,K.jsx)(`p`,{className:G.quiet,children:e.phone}),e.role!==null&&e.role!==`CUSTOMER`&&(0,K.jsxs)(`p`,{className:G.role,"data-role":e.role,children:[(0,K.jsx)(ee,{"aria-hidden":`true`,size:16}),` `,t[e.role]]})]})]}),(0,K.jsxs)(`div`,{className:G.level,"data-level":e.level,"data-points":e.points,children:[(0,K.jsxs)(`p`,{children:[(0,K.jsx)(`strong`,{children:t.level(e.level)}),` `,(0,K.jsx)(`span`,{children:t.points(r(e.points))})]}),i&&(0,K.jsx)(`progress`,{className:G.progress,"aria-label":t.level(e.level+1),max:i.all,value:i.done}),(0,K.jsx)(`p`,{className:G.quiet,children:i?t.more(r(i.all-i.done),e.level+1):t.highest})]}),(0,K.jsx)(`ul`,{className:G.counts,children:a.map(({to:e,label:t,count:i})=>(0,K.jsx)(`li`,{children:(0,K.jsxs)(n,{href:e,children:[(0,K.jsx)(`strong`,{children:r(i)}),` `,(0,K.jsx)(`span`,{children:t})]})},e))})]})}function ge(){let e=Z(),t=[{status:`pay`,label:e.UNPAID,icon:f},{status:`paid`,label:e.PAID,icon:x},{status:`used`,label:e.USED,icon:g},{status:`over`,label:e.CLOSED,icon:S}];return(0,K.jsxs)(`section`,{className:G.card,"aria-labelledby":`my-orders`,children:[(0,K.jsxs)(`div`,{className:G.heading,children:[(0,K.jsx)(`h2`,{id:`my-orders`,children:e.orders}),(0,K.jsx)(n,{href:`/orders`,className:G.all,children:e.all})]}),(0,K.jsx)(`ul`,{className:G.shortcuts,children:t.map(({status:e,label:t,icon:r})=>(0,K.jsx)(`li`,{children:(0,K.jsxs)(n,{href:`/orders?status=${e}`,children:[(0,K.jsx)(r,{"aria-hidden":`true`,size:26,strokeWidth:1.75}),t]})},e))})]})}function _e({me:e}){let n=Z(),[r,i]=m(me,{toastErrors:!1}),[,a]=t(),o=e.role!==null&&e.role!==`CUSTOMER`,s=async()=>{(await r({})).ok||k(n.signedOutOffline),a(`/`),O()};return(0,K.jsxs)(`nav`,{className:G.links,"aria-label":n.rest,children:[(0,K.jsxs)(`ul`,{children:[o&&(0,K.jsxs)(K.Fragment,{children:[(0,K.jsx)($,{to:`/merchant`,icon:p,children:n.merchant}),(0,K.jsx)($,{to:`/merchant/redeem`,icon:b,children:n.redeem})]}),e.role===`ADMIN`&&(0,K.jsx)($,{to:`/admin`,icon:ne,children:n.admin}),(0,K.jsx)($,{to:`/me/edit`,icon:oe,children:n.edit}),(0,K.jsx)($,{to:`/users/${e.id}`,icon:z,children:n.mine}),(0,K.jsx)($,{to:`/settings`,icon:ae,children:n.settings})]}),(0,K.jsxs)(c,{kind:`quiet`,wide:!0,busy:i,onClick:()=>void s(),children:[(0,K.jsx)(ie,{"aria-hidden":`true`,size:18}),` `,n.signOut]})]})}function $({to:e,icon:t,children:r}){return(0,K.jsx)(`li`,{children:(0,K.jsxs)(n,{href:e,className:G.menuLink,children:[(0,K.jsx)(t,{"aria-hidden":`true`,size:22,strokeWidth:1.75}),(0,K.jsx)(`span`,{children:r}),(0,K.jsx)(d,{"aria-hidden":`true`,size:20})]})})}function ve(){let e=Z(),t=i();return(0,K.jsxs)(`div`,{className:G.languages,role:`group`,"aria-label":e.language,children:[(0,K.jsx)(`button`,{type:`button`,lang:`zh-CN`,"aria-pressed":t===`zh`,onClick:()=>r(`zh`),children:`中文`}),(0,K.jsx)(`button`,{type:`button`,lang:`en`,"aria-pressed":t===`en`,onClick:()=>r(`en`),children:`English`})]})}export{Q as Me};