import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{a as t,h as n,i as r,o as i,r as a,s as o,t as s,u as c}from"./Button-BJNnZ8XN.js";import{t as l}from"./bookmark-BEUjke8u.js";import{t as u}from"./chevron-right-UF8bM_Vu.js";import{t as d}from"./clock-B3pvO4JI.js";import{E as f,J as ee,L as p,T as m,U as h,W as g,d as _}from"./app-B0ZPWHu3.js";import{t as v}from"./scan-line-C0xRTt0S.js";import{t as y}from"./ticket-CbmoAK-4.js";import{t as b}from"./undo-2-uHHlo1OO.js";import{i as x,l as S}from"./preload-helper-DXbBgPnf.js";import{t as C}from"./useApiQuery-DhNs3sUT.js";import{t as w}from"./useApiMutation-fQMMxfHh.js";import{t as T}from"./format-scrNEY_u.js";import{a as E,i as D,r as O}from"./session-JQV9-zIN.js";import{n as k}from"./toast--XnaLTgW.js";import{t as A}from"./document-D_a4HVPm.js";var j={name:`badge-check`,size:24,node:[[`path`,{d:`M3.85 8.62a4 4 0 0 1 4.78-4.77 4 4 0 0 1 6.74 0 4 4 0 0 1 4.78 4.78 4 4 0 0 1 0 6.74 4 4 0 0 1-4.77 4.78 4 4 0 0 1-6.75 0 4 4 0 0 1-4.78-4.77 4 4 0 0 1 0-6.76Z`,key:`3c2336`}],[`path`,{d:`m16 9-5.5 5.5L8 12`,key:`xofnsj`}]],aliases:[`verified`]};j.node;var te=o(j),M={name:`calendar-check`,size:24,node:[[`path`,{d:`M8 2v3`,key:`1ioesn`}],[`path`,{d:`M16 2v3`,key:`otl347`}],[`rect`,{x:`3`,y:`3`,width:`18`,height:`18`,rx:`2`,key:`h1oib`}],[`path`,{d:`M3 9h18`,key:`1pudct`}],[`path`,{d:`m9 15 2 2 4-4`,key:`1grp1n`}]]};M.node;var ne=o(M),N={name:`chart-column`,size:24,node:[[`path`,{d:`M3 3v16a2 2 0 0 0 2 2h16`,key:`c24i48`}],[`path`,{d:`M18 17V9`,key:`2bz60n`}],[`path`,{d:`M13 17V5`,key:`1frdt8`}],[`path`,{d:`M8 17v-3`,key:`17ska0`}]],aliases:[`bar-chart-3`]};N.node;var re=o(N),P={name:`check`,size:24,node:[[`path`,{d:`M20 6 9 17l-5-5`,key:`1gmf2c`}]]};P.node;var F=o(P),I={name:`flame`,size:24,node:[[`path`,{d:`M12 3q1 4 4 6.5t3 5.5a1 1 0 0 1-14 0 5 5 0 0 1 1-3 1 1 0 0 0 5 0c0-2-1.5-3-1.5-5q0-2 2.5-4`,key:`1slcih`}]]};I.node;var L=o(I),R={name:`log-out`,size:24,node:[[`path`,{d:`m16 17 5-5-5-5`,key:`1bji2h`}],[`path`,{d:`M21 12H9`,key:`dn1m92`}],[`path`,{d:`M9 21H5a2 2 0 0 1-2-2V5a2 2 0 0 1 2-2h4`,key:`1uf3rs`}]]};R.node;var ie=o(R),z={name:`notebook-pen`,size:24,node:[[`path`,{d:`M13.4 2H6a2 2 0 0 0-2 2v16a2 2 0 0 0 2 2h12a2 2 0 0 0 2-2v-7.4`,key:`re6nr2`}],[`path`,{d:`M2 6h4`,key:`aawbzj`}],[`path`,{d:`M2 10h4`,key:`l0bgd4`}],[`path`,{d:`M2 14h4`,key:`1gsvsf`}],[`path`,{d:`M2 18h4`,key:`1bu2t1`}],[`path`,{d:`M21.378 5.626a1 1 0 1 0-3.004-3.004l-5.01 5.012a2 2 0 0 0-.506.854l-.837 2.87a.5.5 0 0 0 .62.62l2.87-.837a2 2 0 0 0 .854-.506z`,key:`pqwjuv`}]]};z.node;var ae=o(z),B={name:`settings`,size:24,node:[[`path`,{d:`M9.671 4.136a2.34 2.34 0 0 1 4.659 0 2.34 2.34 0 0 0 3.319 1.915 2.34 2.34 0 0 1 2.33 4.033 2.34 2.34 0 0 0 0 3.831 2.34 2.34 0 0 1-2.33 4.033 2.34 2.34 0 0 0-3.319 1.915 2.34 2.34 0 0 1-4.659 0 2.34 2.34 0 0 0-3.32-1.915 2.34 2.34 0 0 1-2.33-4.033 2.34 2.34 0 0 0 0-3.831A2.34 2.34 0 0 1 6.35 6.051a2.34 2.34 0 0 0 3.319-1.915`,key:`1i5ecw`}],[`circle`,{cx:`12`,cy:`12`,r:`3`,key:`1v7zrd`}]]};B.node;var oe=o(B),V={name:`user-pen`,size:24,node:[[`path`,{d:`M11.5 15H7a4 4 0 0 0-4 4v2`,key:`15lzij`}],[`path`,{d:`M21.378 16.626a1 1 0 0 0-3.004-3.004l-4.01 4.012a2 2 0 0 0-.506.854l-.837 2.87a.5.5 0 0 0 .62.62l2.87-.837a2 2 0 0 0 .854-.506z`,key:`1817ys`}],[`circle`,{cx:`10`,cy:`7`,r:`4`,key:`e45bow`}]]};V.node;var se=o(V),H=e(S(),1),U=A(`85204f46becdb86b014968425946d9ee6bd0b4cd40488c18775ae7286ba232ae`,`query MyCheckIns($month: String) {
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
}`),W=A(`6fc647c5550895e956d72c2080170e2b43cc0bd61071b29b8177ade2f56661c2`,`mutation CheckIn {
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
}`),G={head:`_head_bc8ao_1`,streak:`_streak_bc8ao_9`,month:`_month_bc8ao_20`,calendar:`_calendar_bc8ao_42`,open:`_open_bc8ao_66`,checked:`_checked_bc8ao_67`},K={columns:`_columns_47my5_1`,column:`_column_47my5_1`,card:`_card_47my5_9`,person:`_person_47my5_10`,links:`_links_47my5_11`,identity:`_identity_47my5_23`,names:`_names_47my5_29`,quiet:`_quiet_47my5_36`,role:`_role_47my5_42`,level:`_level_47my5_54`,progress:`_progress_47my5_76`,counts:`_counts_47my5_99`,shortcuts:`_shortcuts_47my5_100`,menuLink:`_menuLink_47my5_127`,heading:`_heading_47my5_132`,all:`_all_47my5_140`,languages:`_languages_47my5_190`},q=x(),J=r({title:`Check-in`,go:`Check in`,done:`Checked in today`,earned:e=>`+${e} points`,already:`You already checked in today.`,streak:e=>`${e}-day streak`,noStreak:`Check in daily for 5 points.`,month:e=>e===1?`1 check-in`:`${e} check-ins`,before:`Previous month`,after:`Next month`,checked:`checked in`,today:`today`},{title:`签到`,go:`签到`,done:`今日已签到`,earned:e=>`积分 +${e}`,already:`今天已经签到过了。`,streak:e=>`已连续签到 ${e} 天`,noStreak:`每天签到可得 5 积分。`,month:e=>`签到 ${e} 天`,before:`上个月`,after:`下个月`,checked:`已签到`,today:`今天`});function ce(){let e=J(),{month:t}=T(),[n,r]=(0,H.useState)(null),[{data:i,error:o},c]=C({query:U,variables:{}}),[{data:l,error:d},p]=C({query:U,variables:{month:n},pause:n===null}),[h,g]=w(W),_=i?.me?.checkIns;if(!_)return(0,q.jsx)(`section`,{className:K.card,"aria-label":e.title,children:o?(0,q.jsx)(m,{error:o,onRetry:()=>c({requestPolicy:`network-only`})}):(0,q.jsx)(f,{shape:`text`,count:3})});let{today:v}=_,y=_.days.some(e=>X(_.month,e)===v),b=n??_.month,x=l?.me?.checkIns,S=n===null?_:x?.month===n?x:null,E=async()=>{let t=await h({});if(!t.ok)return;let{pointsEarned:n}=t.value;r(null),k(n>0?e.earned(n):e.already)},D=e=>{let t=de(b,e);r(t===_.month?null:t)};return(0,q.jsxs)(`section`,{className:K.card,"aria-labelledby":`check-in`,"data-checked-in":y,"data-streak":_.streak,children:[(0,q.jsxs)(`div`,{className:G.head,children:[(0,q.jsxs)(`div`,{children:[(0,q.jsx)(`h2`,{id:`check-in`,children:e.title}),(0,q.jsxs)(`p`,{className:G.streak,children:[_.streak>0&&(0,q.jsx)(L,{"aria-hidden":`true`,size:18}),_.streak>0?e.streak(_.streak):e.noStreak]})]}),(0,q.jsxs)(s,{kind:y?`quiet`:`primary`,busy:g,onClick:()=>void E(),children:[y?(0,q.jsx)(F,{"aria-hidden":`true`,size:18}):(0,q.jsx)(ne,{"aria-hidden":`true`,size:18}),y?e.done:e.go]})]}),(0,q.jsxs)(`div`,{className:G.month,children:[(0,q.jsx)(a,{label:e.before,onClick:()=>D(-1),children:(0,q.jsx)(ee,{"aria-hidden":`true`})}),(0,q.jsxs)(`p`,{"aria-live":`polite`,children:[(0,q.jsx)(`strong`,{children:t(b)}),(0,q.jsx)(`span`,{children:S?e.month(S.count):`…`})]}),(0,q.jsx)(a,{label:e.after,disabled:b>=_.month,onClick:()=>D(1),children:(0,q.jsx)(u,{"aria-hidden":`true`})})]}),d&&!S?(0,q.jsx)(m,{error:d,onRetry:()=>p({requestPolicy:`network-only`})}):(0,q.jsx)(le,{month:b,days:S?.days??[],today:v})]})}function le({month:e,days:t,today:n}){let r=J(),{month:a}=T(),o=i()===`zh`?`zh-CN`:`en-GB`,s=new Intl.DateTimeFormat(o,{weekday:`narrow`,timeZone:`UTC`}),c=new Intl.DateTimeFormat(o,{weekday:`long`,timeZone:`UTC`});return(0,q.jsxs)(`table`,{className:G.calendar,"data-month":e,children:[(0,q.jsx)(`caption`,{className:`visually-hidden`,children:a(e)}),(0,q.jsx)(`thead`,{children:(0,q.jsx)(`tr`,{children:Y.map(e=>(0,q.jsx)(`th`,{scope:`col`,children:(0,q.jsx)(`abbr`,{title:c.format(e),children:s.format(e)})},e.getTime()))})}),(0,q.jsx)(`tbody`,{children:ue(e).map((i,a)=>(0,q.jsx)(`tr`,{children:i.map((i,a)=>{let o=Y[a]?.getTime();if(i===null)return(0,q.jsx)(`td`,{},o);let s=t.includes(i),c=n===X(e,i);return(0,q.jsx)(`td`,{"data-day":i,"data-checked":s||void 0,children:(0,q.jsxs)(`span`,{className:s?G.checked:G.open,"aria-current":c?`date`:void 0,children:[i,s&&(0,q.jsx)(F,{"aria-hidden":`true`,size:12,strokeWidth:3}),s&&(0,q.jsxs)(`span`,{className:`visually-hidden`,children:[`, `,r.checked]}),c&&(0,q.jsxs)(`span`,{className:`visually-hidden`,children:[`, `,r.today]})]})},o)})},a))})]})}var Y=[1,2,3,4,5,6,7].map(e=>new Date(Date.UTC(2024,0,e)));function ue(e){let t=new Date(`${e}-01T00:00:00Z`),n=new Date(Date.UTC(t.getUTCFullYear(),t.getUTCMonth()+1,0)).getUTCDate(),r=(t.getUTCDay()+6)%7;return Array.from({length:Math.ceil((r+n)/7)},(e,t)=>Array.from({length:7},(e,i)=>{let a=t*7+i-r+1;return a>=1&&a<=n?a:null}))}function de(e,t){let n=new Date(`${e}-01T00:00:00Z`);return n.setUTCMonth(n.getUTCMonth()+t),n.toISOString().slice(0,7)}function X(e,t){return`${e}-${String(t).padStart(2,`0`)}`}var Z=[0,100,300,1e3,3e3,1e4,3e4,1e5,3e5,1e6];function fe(e,t){let n=Z[e],r=Z[e+1];return n===void 0||r===void 0?null:{done:Math.min(r,Math.max(n,t))-n,all:r-n}}var pe=A(`9c4b631fb5174de9040077370f51423f17449c98cc67956a76ea20fa1dac9e67`,`query Me {
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
}`),Q=r({title:`Me`,level:e=>`Level ${e}`,points:e=>e===`1`?`1 point`:`${e} points`,more:(e,t)=>`${e===`1`?`1 point`:`${e} points`} to level ${t}`,highest:`Highest level`,notes:`Notes`,followers:`Followers`,followees:`Following`,orders:`My orders`,all:`See all`,UNPAID:`Unpaid`,PAID:`Ready to use`,USED:`Used`,CLOSED:`Closed`,rest:`More`,edit:`Edit profile`,mine:`My notes`,saved:`Saved`,settings:`Settings`,merchant:`My shops`,redeem:`Redeem voucher`,admin:`Admin dashboard`,MERCHANT:`Merchant`,ADMIN:`Admin`,CUSTOMER:``,language:`Language`,signOut:`Sign out`,signedOutOffline:`Signed out on this device. We couldn’t reach the server, so the session will expire on its own.`},{title:`我的`,level:e=>`Lv.${e}`,points:e=>`${e} 积分`,more:(e,t)=>`再得 ${e} 积分升至 Lv.${t}`,highest:`已是最高等级`,notes:`笔记`,followers:`粉丝`,followees:`关注`,orders:`我的订单`,all:`查看全部`,UNPAID:`待付款`,PAID:`待使用`,USED:`已使用`,CLOSED:`已关闭`,rest:`更多`,edit:`编辑资料`,mine:`我的笔记`,saved:`我的收藏`,settings:`设置`,merchant:`我的店铺`,redeem:`核销代金券`,admin:`管理后台`,MERCHANT:`商家`,ADMIN:`管理员`,CUSTOMER:``,language:`语言`,signOut:`退出登录`,signedOutOffline:`本机已退出登录。未能连接服务器，登录状态将自动失效。`});function he(){let e=Q(),t=E(),[{data:n,error:r},i]=C({query:pe,variables:{}}),a=n!==void 0&&n.me===null,o=t?.token;return(0,H.useEffect)(()=>{a&&o!==void 0&&D(o)},[a,o]),(0,q.jsx)(_,{title:e.title,action:(0,q.jsx)(ye,{}),children:n?.me?(0,q.jsxs)(`div`,{className:K.columns,children:[(0,q.jsxs)(`div`,{className:K.column,children:[(0,q.jsx)(ge,{me:n.me}),(0,q.jsx)(_e,{})]}),(0,q.jsxs)(`div`,{className:K.column,children:[(0,q.jsx)(ce,{}),(0,q.jsx)(ve,{me:n.me})]})]}):r?(0,q.jsx)(m,{error:r,onRetry:()=>i({requestPolicy:`network-only`})}):(0,q.jsx)(f,{shape:`row`,count:4})})}function ge({me:e}){let t=Q(),{number:n}=T(),r=fe(e.level,e.points),i=[{to:`/users/${e.id}`,label:t.notes,count:e.noteCount},{to:`/users/${e.id}/followers`,label:t.followers,count:e.followerCount},{to:`/users/${e.id}/followees`,label:t.followees,count:e.followeeCount}];return(0,q.jsxs)(`section`,{className:K.person,"aria-label":e.nickname,children:[(0,q.jsxs)(`div`,{className:K.identity,children:[(0,q.jsx)(p,{user:e,size:76}),(0,q.jsxs)(`div`,{className:K.names,children:[(0,q.jsx)(`h2`,{dir:`auto`,children:e.nickname}),e.phone!==null&&(0,q.jsx)(`p`,{className:K.quiet,children:e.phone}),e.role!==null&&e.role!==`CUSTOMER`&&(0,q.jsxs)(`p`,{className:K.role,"data-role":e.role,children:[(0,q.jsx)(te,{"aria-hidden":`true`,size:16}),` `,t[e.role]]})]})]}),(0,q.jsxs)(`div`,{className:K.level,"data-level":e.level,"data-points":e.points,children:[(0,q.jsxs)(`p`,{children:[(0,q.jsx)(`strong`,{children:t.level(e.level)}),` `,(0,q.jsx)(`span`,{children:t.points(n(e.points))})]}),r&&(0,q.jsx)(`progress`,{className:K.progress,"aria-label":t.level(e.level+1),max:r.all,value:r.done}),(0,q.jsx)(`p`,{className:K.quiet,children:r?t.more(n(r.all-r.done),e.level+1):t.highest})]}),(0,q.jsx)(`ul`,{className:K.counts,children:i.map(({to:e,label:t,count:r})=>(0,q.jsx)(`li`,{children:(0,q.jsxs)(c,{href:e,children:[(0,q.jsx)(`strong`,{children:n(r)}),` `,(0,q.jsx)(`span`,{children:t})]})},e))})]})}function _e(){let e=Q(),t=[{status:`pay`,label:e.UNPAID,icon:d},{status:`paid`,label:e.PAID,icon:y},{status:`used`,label:e.USED,icon:g},{status:`over`,label:e.CLOSED,icon:b}];return(0,q.jsxs)(`section`,{className:K.card,"aria-labelledby":`my-orders`,children:[(0,q.jsxs)(`div`,{className:K.heading,children:[(0,q.jsx)(`h2`,{id:`my-orders`,children:e.orders}),(0,q.jsx)(c,{href:`/orders`,className:K.all,children:e.all})]}),(0,q.jsx)(`ul`,{className:K.shortcuts,children:t.map(({status:e,label:t,icon:n})=>(0,q.jsx)(`li`,{children:(0,q.jsxs)(c,{href:`/orders?status=${e}`,children:[(0,q.jsx)(n,{"aria-hidden":`true`,size:26,strokeWidth:1.75}),t]})},e))})]})}function ve({me:e}){let t=Q(),[r,i]=w(me,{toastErrors:!1}),[,a]=n(),o=e.role!==null&&e.role!==`CUSTOMER`,c=async()=>{(await r({})).ok||k(t.signedOutOffline),a(`/`),O()};return(0,q.jsxs)(`nav`,{className:K.links,"aria-label":t.rest,children:[(0,q.jsxs)(`ul`,{children:[o&&(0,q.jsxs)(q.Fragment,{children:[(0,q.jsx)($,{to:`/merchant`,icon:h,children:t.merchant}),(0,q.jsx)($,{to:`/merchant/redeem`,icon:v,children:t.redeem})]}),e.role===`ADMIN`&&(0,q.jsx)($,{to:`/admin`,icon:re,children:t.admin}),(0,q.jsx)($,{to:`/saved`,icon:l,children:t.saved}),(0,q.jsx)($,{to:`/me/edit`,icon:se,children:t.edit}),(0,q.jsx)($,{to:`/users/${e.id}`,icon:ae,children:t.mine}),(0,q.jsx)($,{to:`/settings`,icon:oe,children:t.settings})]}),(0,q.jsxs)(s,{kind:`quiet`,wide:!0,busy:i,onClick:()=>void c(),children:[(0,q.jsx)(ie,{"aria-hidden":`true`,size:18}),` `,t.signOut]})]})}function $({to:e,icon:t,children:n}){return(0,q.jsx)(`li`,{children:(0,q.jsxs)(c,{href:e,className:K.menuLink,children:[(0,q.jsx)(t,{"aria-hidden":`true`,size:22,strokeWidth:1.75}),(0,q.jsx)(`span`,{children:n}),(0,q.jsx)(u,{"aria-hidden":`true`,size:20})]})})}function ye(){let e=Q(),n=i();return(0,q.jsxs)(`div`,{className:K.languages,role:`group`,"aria-label":e.language,children:[(0,q.jsx)(`button`,{type:`button`,lang:`zh-CN`,"aria-pressed":n===`zh`,onClick:()=>t(`zh`),children:`中文`}),(0,q.jsx)(`button`,{type:`button`,lang:`en`,"aria-pressed":n===`en`,onClick:()=>t(`en`),children:`English`})]})}export{he as Me};