const __vite__mapDeps=(i,m=__vite__mapDeps,d=(m.f||(m.f=["assets/RateSheet-BP-7FDeF.js","assets/rolldown-runtime-BCiCTKAo.js","assets/trash-lLKKbU10.js","assets/Button-BJNnZ8XN.js","assets/preload-helper-DXbBgPnf.js","assets/store-BoUQ0Mj2.js","assets/Button-REzYy3BG.css","assets/errors-CWz5aWUu.js","assets/useApiMutation-fQMMxfHh.js","assets/document-D_a4HVPm.js","assets/toast--XnaLTgW.js","assets/toast-BRurq9qp.css","assets/Form-DKVLoJqR.js","assets/Form-DTFqScYa.css","assets/outcomeUnknown-DcrMeS2e.js","assets/app-B0ZPWHu3.js","assets/session-JQV9-zIN.js","assets/useApiQuery-DhNs3sUT.js","assets/dist-NDuUUPow.js","assets/format-scrNEY_u.js","assets/bookmark-BEUjke8u.js","assets/useSignInGuard-CK1--RHy.js","assets/returnPath-CGi25nDj.js","assets/star-DBDUQEh3.js","assets/clock-BsYt33P9.js","assets/padTwo-Jux57CeU.js","assets/app-DQG8pJ1P.css","assets/RateSheet-TeyijJP4.css"])))=>i.map(i=>d[i]);
import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{t}from"./clock-B3pvO4JI.js";import{i as n,n as r,s as i,t as a,u as o}from"./Button-BJNnZ8XN.js";import{B as s,E as c,F as l,G as u,K as d,M as f,T as p,_ as m,a as ee,d as h,f as te,r as g,v as _,w as ne}from"./app-B0ZPWHu3.js";import{t as re}from"./errors-CWz5aWUu.js";import{t as v}from"./useApiQuery-DhNs3sUT.js";import{t as y}from"./format-scrNEY_u.js";import{i as ie,l as ae,r as b,t as oe}from"./preload-helper-DXbBgPnf.js";import{t as se}from"./star-DBDUQEh3.js";import{a as ce}from"./session-JQV9-zIN.js";import{n as le}from"./useSignInGuard-CK1--RHy.js";import{t as x}from"./document-D_a4HVPm.js";import{NotFound as S}from"./NotFound-D72cODaU.js";import{t as C}from"./clock-BsYt33P9.js";import{i as ue,n as de,r as fe,t as pe}from"./useHoursTexts-CVUz2YEq.js";import{t as w}from"./Gallery-BiJ0bUSf.js";import{t as T}from"./ticket-CbmoAK-4.js";var E={name:`chevron-down`,size:24,node:[[`path`,{d:`m6 9 6 6 6-6`,key:`qrunsl`}]]};E.node;var D=i(E),O={name:`globe`,size:24,node:[[`circle`,{cx:`12`,cy:`12`,r:`10`,key:`1mglay`}],[`path`,{d:`M12 2a14.5 14.5 0 0 0 0 20 14.5 14.5 0 0 0 0-20`,key:`13o1zl`}],[`path`,{d:`M2 12h20`,key:`9i4pu4`}]]};O.node;var me=i(O),k={name:`navigation`,size:24,node:[[`polygon`,{points:`3 11 22 2 13 21 11 13 3 11`,key:`1ltx0t`}]]};k.node;var he=i(k),A={name:`pen-line`,size:24,node:[[`path`,{d:`M13 21h8`,key:`1jsn5i`}],[`path`,{d:`M21.174 6.812a1 1 0 0 0-3.986-3.987L3.842 16.174a2 2 0 0 0-.5.83l-1.321 4.352a.5.5 0 0 0 .623.622l4.353-1.32a2 2 0 0 0 .83-.497z`,key:`1a8usu`}]],aliases:[`edit-3`]};A.node;var j=i(A),M={name:`phone`,size:24,node:[[`path`,{d:`M13.832 16.568a1 1 0 0 0 1.213-.303l.355-.465A2 2 0 0 1 17 15h3a2 2 0 0 1 2 2v3a2 2 0 0 1-2 2A18 18 0 0 1 2 4a2 2 0 0 1 2-2h3a2 2 0 0 1 2 2v3a2 2 0 0 1-.8 1.6l-.468.351a1 1 0 0 0-.292 1.233 14 14 0 0 0 6.392 6.384`,key:`9njp5v`}]]};M.node;var N=i(M),P={name:`shopping-bag`,size:24,node:[[`path`,{d:`M16 10a4 4 0 0 1-8 0`,key:`1ltviw`}],[`path`,{d:`M3.103 6.034h17.794`,key:`awc11p`}],[`path`,{d:`M3.4 5.467a2 2 0 0 0-.4 1.2V20a2 2 0 0 0 2 2h14a2 2 0 0 0 2-2V6.667a2 2 0 0 0-.4-1.2l-2-2.667A2 2 0 0 0 17 2H7a2 2 0 0 0-1.6.8z`,key:`o988cm`}]]};P.node;var F=i(P),I=e(ae(),1),L=n({taste:`Taste`,environment:`Environment`,service:`Service`},{taste:`口味`,environment:`环境`,service:`服务`}),R=new Set([`Hair & beauty`,`Massage & spa`,`Fitness & sports`,`Cinema & theatre`,`Kids & families`,`Books & culture`]);function z(e){return R.has(e)?[`environment`,`service`]:[`taste`,`environment`,`service`]}var ge=x(`1087e6f1ce29aeabef8399e76e96d9d3be6d879da7ff2bb60361a3ce65a5e202`,`query OwnShops {
  me {
    id
    shops(first: 100) {
      edges {
        node {
          id
          __typename
        }
        __typename
      }
      __typename
    }
    __typename
  }
}`),_e=x(`772bead7af55f08325cab47da484c6ef6e62e1ca4d57cd6039824858795f2a04`,`mutation RateShop($input: RateShopInput!) {
  rateShop(input: $input) {
    shop {
      ...ShopRatings
      __typename
    }
    userErrors {
      ...Refused
      __typename
    }
    __typename
  }
}
fragment ShopRatings on Shop {
  id
  ...ShopScore
  rating {
    distribution
    taste
    environment
    service
    __typename
  }
  viewerRating {
    stars
    taste
    environment
    service
    __typename
  }
  __typename
}
fragment ShopScore on Shop {
  id
  rating {
    average
    count
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
}`),ve=x(`bd97006712fdc08cb6b413b51ff0b88202bf86fddf371fd3f7603b8bf2535ebd`,`mutation DeleteRating($shopId: ID!) {
  deleteRating(shopId: $shopId) {
    shop {
      ...ShopRatings
      __typename
    }
    userErrors {
      ...Refused
      __typename
    }
    __typename
  }
}
fragment ShopRatings on Shop {
  id
  ...ShopScore
  rating {
    distribution
    taste
    environment
    service
    __typename
  }
  viewerRating {
    stars
    taste
    environment
    service
    __typename
  }
  __typename
}
fragment ShopScore on Shop {
  id
  rating {
    average
    count
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
}`),ye=x(`3294aea5607357fbd985ebf3bc8fb45fb8b51357be2a6a007acab14fe3b453d9`,`mutation RateWithNote($input: PublishNoteInput!) {
  publishNote(input: $input) {
    note {
      id
      shop {
        ...ShopRatings
        __typename
      }
      __typename
    }
    userErrors {
      ...Refused
      __typename
    }
    __typename
  }
}
fragment ShopRatings on Shop {
  id
  ...ShopScore
  rating {
    distribution
    taste
    environment
    service
    __typename
  }
  viewerRating {
    stars
    taste
    environment
    service
    __typename
  }
  __typename
}
fragment ShopScore on Shop {
  id
  rating {
    average
    count
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
}`),B={ratings:`_ratings_1j5zd_1`,average:`_average_1j5zd_11`,bars:`_bars_1j5zd_15`,bar:`_bar_1j5zd_15`,aspects:`_aspects_1j5zd_58`,mine:`_mine_1j5zd_79`},V=ie(),be=g(async()=>(await oe(async()=>{let{RateSheet:e}=await import(`./RateSheet-BP-7FDeF.js`);return{RateSheet:e}},__vite__mapDeps([0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27]))).RateSheet),H=n({bars:`Ratings by stars`,bar:(e,t,n)=>`${e===1?`1 star`:`${e} stars`}: ${t===1?`1 rating`:`${n} ratings`}`,first:`Be the first to rate this shop.`,mine:`Your rating`,rate:`Rate this shop`,change:`Change rating`},{bars:`评分分布`,bar:(e,t,n)=>`${e} 星：${n} 人`,first:`来做第一个评分的人吧。`,mine:`我的评分`,rate:`给店铺评分`,change:`修改评分`});function xe({shop:e}){let t=H(),n=L(),{rating:r,viewerRating:i}=e,a=z(e.type.name).filter(e=>r[e]!==null);return(0,V.jsxs)(`div`,{className:B.ratings,"data-ratings":r.count,children:[(0,V.jsx)(`p`,{className:B.average,children:(0,V.jsx)(_,{shop:e})}),r.count>0?(0,V.jsx)(Se,{distribution:r.distribution}):(0,V.jsx)(`p`,{children:t.first}),a.length>0&&(0,V.jsx)(`dl`,{className:B.aspects,children:a.map(e=>(0,V.jsxs)(`div`,{children:[(0,V.jsx)(`dt`,{children:n[e]}),(0,V.jsx)(`dd`,{children:r[e]?.toFixed(1)})]},e))}),i!==null&&(0,V.jsxs)(`p`,{className:B.mine,"data-mine":i.stars,children:[t.mine,` `,(0,V.jsx)(l,{value:i.stars,size:18})]}),(0,V.jsx)(U,{shop:e,label:i===null?t.rate:t.change})]})}function Se({distribution:e}){let t=H(),{number:n}=y(),r=Math.max(1,...e);return(0,V.jsx)(`ul`,{className:B.bars,"aria-label":t.bars,children:[5,4,3,2,1].map(i=>{let a=e[i-1]??0;return(0,V.jsxs)(`li`,{children:[(0,V.jsx)(`span`,{className:`visually-hidden`,children:t.bar(i,a,n(a))}),(0,V.jsxs)(`span`,{"aria-hidden":`true`,children:[i,` `,(0,V.jsx)(se,{size:12,fill:`currentColor`})]}),(0,V.jsx)(`span`,{"aria-hidden":`true`,className:B.bar,children:(0,V.jsx)(`span`,{style:{width:`${100*a/r}%`}})}),(0,V.jsx)(`span`,{"aria-hidden":`true`,children:n(a)})]},i)})})}function U({shop:e,label:t}){let n=ce(),r=le(),[i,o]=(0,I.useState)(!1),[{data:s,fetching:c}]=v({query:ge,variables:{},requestPolicy:`cache-first`,pause:n===null,refetchOnResume:!1});return s?.me?.shops?.edges.some(({node:t})=>t.id===e.id)||c?null:(0,V.jsxs)(V.Fragment,{children:[(0,V.jsxs)(a,{kind:`quiet`,onClick:()=>{r()&&o(!0)},children:[(0,V.jsx)(j,{"aria-hidden":`true`,size:18}),t]}),i&&(0,V.jsx)(I.Suspense,{fallback:null,children:(0,V.jsx)(be,{shop:e,onClose:()=>o(!1)})})]})}function Ce(e){let t=e.split(/[;,/]/,1)[0].replace(/[^\d+*#]/g,``);return/\d{3}/.test(t)?`tel:${t}`:null}function we(e){try{let t=new URL(e);return t.protocol!==`https:`&&t.protocol!==`http:`?null:{url:t.href,name:t.host.replace(/^www\./,``)}}catch{return null}}var Te={hours:`_hours_csjn2_1`};function Ee({shop:{hours:e,isOpen:t,timeZone:n},onChange:r}){let i=pe(),a=De(e.nextChange,r),o=fe(a,t===!0,e.nextChange,n),[s,c]=i.state(o,e.week),l=ue(a,n);return(0,V.jsxs)(`details`,{className:Te.hours,"data-open":o.open,children:[(0,V.jsxs)(`summary`,{children:[(0,V.jsxs)(`span`,{children:[(0,V.jsx)(`strong`,{children:s}),c!==void 0&&` · ${c}`]}),(0,V.jsx)(D,{"aria-hidden":`true`,size:18})]}),(0,V.jsx)(`table`,{children:(0,V.jsx)(`tbody`,{children:de(e.week).map(e=>(0,V.jsxs)(`tr`,{"aria-current":l!==null&&e.first<=l&&l<=e.last?`date`:void 0,children:[(0,V.jsx)(`th`,{scope:`row`,children:i.days(e)}),(0,V.jsx)(`td`,{children:i.ranges(e)})]},e.first))})})]})}var W=864e5;function De(e,t){let[n,r]=(0,I.useState)(C),i=(0,I.useEffectEvent)(t);return(0,I.useEffect)(()=>{if(e===null)return;let t,n=()=>{let r=Date.parse(e)-C();t=setTimeout(r>W?n:a,Math.min(r+1e3,W))},a=()=>{r(C()),i()};return Date.parse(e)>C()&&n(),()=>clearTimeout(t)},[e]),n}function Oe(e,t){return{x:(e.lng-t.lng)*Math.cos(t.lat*Math.PI/180)*111320,y:(t.lat-e.lat)*110540}}var ke=120,G=[20,50,100,200,500,1e3];function Ae(e,{width:t,height:n,margin:r}){let i=t=>Math.max(ke,...e.map(e=>Math.abs(e[t]))),a=Math.min((t/2-r)/i(`x`),(n/2-r)/i(`y`));return{scale:a,bar:Math.max(G[0],...G.filter(e=>e*a<=t/3))}}var je=12;function Me(e,t,n,r){let i=e.map(({x:e,y:t})=>({x:e,y:t})),a=i.slice(0,n);for(let e=0;e<je;e++)for(let[e,n]of a.entries()){let i=Math.hypot(n.x-t.x,n.y-t.y);if(i<r){let e=i===0?0:r/i;n.x=i===0?t.x+r:t.x+(n.x-t.x)*e,n.y=t.y+(n.y-t.y)*e}for(let t of a.slice(e+1)){let[e,i]=[t.x-n.x,t.y-n.y],a=Math.hypot(e,i);if(a>=r)continue;let[o,s]=a===0?[1,0]:[e/a,i/a],c=(r-a)/2;n.x-=o*c,n.y-=s*c,t.x+=o*c,t.y+=s*c}}return i}var Ne=x(`b87776e13e17a8a14d54b7c1b556fd498a66882c5cffb1d8ae61584139c298d4`,`query Neighbours($near: NearInput!) {
  shops(near: $near, first: 31) {
    edges {
      distance
      node {
        id
        name
        location {
          lat
          lng
          __typename
        }
        type {
          id
          name
          __typename
        }
        __typename
      }
      __typename
    }
    __typename
  }
}`),K={place:`_place_jg0h1_1`,map:`_map_jg0h1_8`,ring:`_ring_jg0h1_22`,target:`_target_jg0h1_28`,dot:`_dot_jg0h1_32`,near:`_near_jg0h1_38`,far:`_far_jg0h1_53`,here:`_here_jg0h1_69`,middle:`_middle_jg0h1_79`,bar:`_bar_jg0h1_84`,north:`_north_jg0h1_90`,go:`_go_jg0h1_94`,degrees:`_degrees_jg0h1_105`,list:`_list_jg0h1_113`,number:`_number_jg0h1_140`,what:`_what_jg0h1_152`,metres:`_metres_jg0h1_159`},Pe=n({map:e=>`Map around ${e}`,north:`N`,go:`Open in maps`,near:`Nearby shops`,alone:`No other shops nearby`},{map:e=>`${e} 周边地图`,north:`北`,go:`在地图应用中打开`,near:`附近店铺`,alone:`附近没有其他店铺。`}),Fe=600,q=6,J={width:360,height:320,margin:22},Y={x:J.width/2,y:J.height/2};function Ie({shop:e}){let t=Pe(),{distance:n}=y(),r=m(),{lat:i,lng:a}=e.location,[{data:s}]=v({query:Ne,variables:{near:{lat:i,lng:a,radius:Fe}},requestPolicy:`cache-first`}),c=(s?.shops.edges??[]).filter(({node:t})=>t.id!==e.id).slice(0,30).map(({node:t,distance:n},r)=>({shop:t,at:Oe(t.location,e.location),distance:n??0,index:r})),{scale:l,bar:u}=Ae(c.map(e=>e.at),J),d=u*l,f=Me(c.map(({at:e})=>({x:Y.x+e.x*l,y:Y.y+e.y*l})),Y,q,21),p={x:16,y:J.height-16};return(0,V.jsxs)(`div`,{className:K.place,children:[(0,V.jsxs)(`svg`,{className:K.map,viewBox:`0 0 ${J.width} ${J.height}`,role:`group`,"aria-label":t.map(b(e.name)),"data-neighbours":s?c.length:void 0,children:[[u,u*2,u*3].map(e=>(0,V.jsx)(`circle`,{className:K.ring,cx:Y.x,cy:Y.y,r:e*l},e)),[...c].reverse().map(({shop:{id:e,name:t},distance:r,index:i})=>{let a=`${b(t)}, ${n(r)}`,{x:s,y:c}=f[i];return(0,V.jsxs)(o,{href:`/shops/${e}`,className:i<q?K.near:K.far,"aria-label":i<q?`${i+1} ${a}`:a,children:[(0,V.jsx)(`title`,{children:a}),(0,V.jsxs)(`g`,{transform:`translate(${s} ${c})`,children:[(0,V.jsx)(`circle`,{className:K.target,r:`14`}),(0,V.jsx)(`circle`,{className:K.dot,r:i<q?10:5}),i<q&&(0,V.jsx)(`text`,{"aria-hidden":`true`,y:`4`,children:i+1})]})]},e)}),(0,V.jsxs)(`g`,{className:K.here,transform:`translate(${Y.x} ${Y.y})`,"aria-hidden":`true`,children:[(0,V.jsx)(`circle`,{r:`10`}),(0,V.jsx)(`circle`,{className:K.middle,r:`4`})]}),(0,V.jsxs)(`g`,{className:K.bar,"aria-hidden":`true`,children:[(0,V.jsx)(`path`,{d:`M${p.x} ${p.y-6}V${p.y}H${p.x+d}V${p.y-6}`}),(0,V.jsx)(`text`,{x:p.x+d/2,y:p.y-6,children:n(u)})]}),(0,V.jsxs)(`g`,{className:K.north,"aria-hidden":`true`,transform:`translate(${J.width-22} 16)`,children:[(0,V.jsx)(`path`,{d:`M0 0L6 16L0 12L-6 16Z`}),(0,V.jsx)(`text`,{y:`29`,children:t.north})]})]}),(0,V.jsxs)(`a`,{className:K.go,href:`geo:${i},${a}?q=${i},${a}(${encodeURIComponent(e.name)})`,children:[(0,V.jsx)(he,{"aria-hidden":`true`,size:18}),t.go,(0,V.jsxs)(`span`,{className:K.degrees,children:[i.toFixed(5),`, `,a.toFixed(5)]})]}),s&&(0,V.jsxs)(`div`,{className:K.list,children:[(0,V.jsx)(`h3`,{children:t.near}),c.length===0&&(0,V.jsx)(`p`,{children:t.alone}),(0,V.jsx)(`ol`,{children:c.slice(0,q).map(({shop:{id:e,name:t,type:i},distance:a,index:s})=>(0,V.jsxs)(`li`,{children:[(0,V.jsx)(`span`,{"aria-hidden":`true`,className:K.number,children:s+1}),(0,V.jsx)(o,{href:`/shops/${e}`,dir:`auto`,children:t}),(0,V.jsx)(`span`,{className:K.what,dir:`auto`,children:r(i.name)}),(0,V.jsx)(`span`,{className:K.metres,children:n(a)})]},e))})]})]})}var X={card:`_card_192v8_1`,price:`_price_192v8_15`,text:`_text_192v8_36`,tag:`_tag_192v8_44`,link:`_link_192v8_52`,sub:`_sub_192v8_63`},Le=n({voucher:`Voucher`,value:e=>`${e} value`,limit:`Limit 1 per customer`,unavailable:`Unavailable`},{voucher:`代金券`,value:e=>`面值 ${e}`,limit:`每人限购 1 张`,unavailable:`已下架`});function Re({voucher:e}){let t=Le(),{money:n}=y();return(0,V.jsxs)(`article`,{className:X.card,"data-voucher":e.id,children:[(0,V.jsxs)(`p`,{className:X.price,children:[(0,V.jsx)(`strong`,{children:n(e.payValue)}),(0,V.jsx)(`span`,{children:t.value(n(e.faceValue))})]}),(0,V.jsxs)(`div`,{className:X.text,children:[(0,V.jsxs)(`p`,{className:X.tag,children:[(0,V.jsx)(T,{"aria-hidden":`true`,size:16}),t.voucher,e.onePerUser&&(0,V.jsxs)(`span`,{children:[`· `,t.limit]}),e.status!==`ON_SALE`&&(0,V.jsxs)(`span`,{children:[`· `,t.unavailable]})]}),(0,V.jsx)(`h3`,{dir:`auto`,children:(0,V.jsx)(o,{href:`/vouchers/${e.id}`,className:X.link,children:e.title})}),e.subTitle!==null&&(0,V.jsx)(`p`,{className:X.sub,dir:`auto`,children:e.subTitle})]})]})}var ze=x(`2debccde95290d512713a0efa7462f8df7a0bd69f3d5388c18d0b64e3e6397fe`,`query Shop($id: ID!) {
  shop(id: $id) {
    id
    name
    area
    address
    phone
    website
    avgPrice
    ...ShopHours
    ...ShopRatings
    ...SavedShop
    sold
    commentCount
    images {
      url
      thumbnailUrl
      width
      height
      __typename
    }
    location {
      lat
      lng
      __typename
    }
    type {
      id
      name
      __typename
    }
    vouchers {
      id
      ... on OrdinaryVoucher {
        ...VoucherCard
        __typename
      }
      ... on FlashVoucher {
        ...SaleCard
        __typename
      }
      __typename
    }
    __typename
  }
}
fragment ShopHours on Shop {
  id
  openHours
  isOpen
  timeZone
  hours {
    week {
      weekday
      ranges {
        opens
        closes
        __typename
      }
      __typename
    }
    nextChange
    __typename
  }
  __typename
}
fragment ShopRatings on Shop {
  id
  ...ShopScore
  rating {
    distribution
    taste
    environment
    service
    __typename
  }
  viewerRating {
    stars
    taste
    environment
    service
    __typename
  }
  __typename
}
fragment ShopScore on Shop {
  id
  rating {
    average
    count
    __typename
  }
  __typename
}
fragment SavedShop on Shop {
  id
  isSaved
  saveCount
  __typename
}
fragment VoucherCard on OrdinaryVoucher {
  id
  title
  subTitle
  payValue
  faceValue
  status
  onePerUser
  __typename
}
fragment SaleCard on FlashVoucher {
  id
  title
  subTitle
  payValue
  faceValue
  status
  sale {
    ...SaleState
    __typename
  }
  shop {
    id
    name
    __typename
  }
  __typename
}
fragment SaleState on FlashSale {
  voucherId
  stock
  initialStock
  beginsAt
  endsAt
  phase
  __typename
}`),Be=x(`ad2741683c0ace026dbde64bfc9bf761470fc6f4f8d8aa400fc7913aa88cab33`,`query ShopNotes($id: ID!, $after: Cursor) {
  shop(id: $id) {
    id
    notes(first: 10, after: $after) {
      edges {
        node {
          ...NoteCard
          __typename
        }
        __typename
      }
      pageInfo {
        ...Page
        __typename
      }
      __typename
    }
    __typename
  }
}
fragment NoteCard on Note {
  id
  title
  content
  likeCount
  commentCount
  isLiked
  isSaved
  createdAt
  images {
    thumbnailUrl
    width
    height
    __typename
  }
  author {
    id
    nickname
    avatarUrl
    __typename
  }
  shop {
    id
    name
    __typename
  }
  authorRating {
    stars
    __typename
  }
  __typename
}
fragment Page on PageInfo {
  hasNextPage
  endCursor
  __typename
}`),Z={layout:`_layout_jufon_1`,head:`_head_jufon_7`,card:`_card_jufon_14`,facts:`_facts_jufon_23`,figures:`_figures_jufon_24`,details:`_details_jufon_46`,area:`_area_jufon_78`,vouchers:`_vouchers_jufon_84`,where:`_where_jufon_89`,notes:`_notes_jufon_96`,list:`_list_jufon_100`,none:`_none_jufon_105`,heading:`_heading_jufon_118`},Q=n({title:`Shop`,pictures:e=>`Photos of ${e}`,perPerson:e=>`${e} per person`,comments:e=>e===`1`?`1 comment`:`${e} comments`,sold:e=>e===`1`?`1 voucher sold`:`${e} vouchers sold`,address:`Address`,hours:`Opening hours`,phone:`Phone`,website:`Website`,ratings:`Ratings`,vouchers:`Vouchers`,noVouchers:`No vouchers right now`,where:`Location`,notes:`Notes`,noNotes:`No notes about this shop yet. Write the first one.`,write:`Write a note`},{title:`店铺`,pictures:e=>`${e} 的图片`,perPerson:e=>`人均 ${e}`,comments:e=>`${e} 条评论`,sold:e=>`已售 ${e} 张`,address:`地址`,hours:`营业时间`,phone:`电话`,website:`网站`,ratings:`评分`,vouchers:`代金券`,noVouchers:`暂无代金券。`,where:`位置`,notes:`笔记`,noNotes:`还没有人写过这家店，来写第一篇吧。`,write:`写笔记`});function Ve({id:e}){let t=Q(),{money:n,number:i}=y(),a=m(),[{data:o,error:l},d]=v({query:ze,variables:{id:e}}),g=o?.shop;return g?(0,V.jsx)(h,{title:g.name,backTo:`/`,action:(0,V.jsx)(s,{type:`Shop`,of:g,name:g.name}),children:(0,V.jsxs)(`div`,{className:Z.layout,"data-shop":e,children:[(0,V.jsxs)(`div`,{className:Z.head,children:[g.images.length>0&&(0,V.jsx)(w,{label:t.pictures(b(g.name)),images:g.images,ratio:3/2}),(0,V.jsxs)(`div`,{className:Z.card,children:[(0,V.jsxs)(`p`,{className:Z.facts,children:[(0,V.jsx)(_,{shop:g}),(0,V.jsx)(`span`,{dir:`auto`,children:a(g.type.name)}),g.avgPrice!==null&&(0,V.jsx)(`span`,{children:t.perPerson(n(g.avgPrice))})]}),(0,V.jsxs)(`p`,{className:Z.figures,children:[(0,V.jsxs)(`span`,{children:[(0,V.jsx)(u,{"aria-hidden":`true`,size:18}),t.comments(i(g.commentCount))]}),(0,V.jsxs)(`span`,{children:[(0,V.jsx)(F,{"aria-hidden":`true`,size:18}),t.sold(i(g.sold))]})]}),(0,V.jsx)(He,{shop:g,onHoursChange:()=>d({requestPolicy:`network-only`})})]})]}),(0,V.jsxs)(`section`,{className:Z.vouchers,"aria-labelledby":`vouchers`,children:[(0,V.jsx)(`h2`,{id:`vouchers`,children:t.vouchers}),g.vouchers.length===0?(0,V.jsx)(`p`,{className:Z.none,children:t.noVouchers}):(0,V.jsx)(`ul`,{className:Z.list,children:g.vouchers.map(e=>(0,V.jsx)(`li`,{children:`sale`in e?(0,V.jsx)(ee,{voucher:e}):(0,V.jsx)(Re,{voucher:e})},e.id))})]}),(0,V.jsxs)(`div`,{className:Z.notes,children:[(0,V.jsxs)(`section`,{"aria-labelledby":`ratings`,children:[(0,V.jsx)(`h2`,{id:`ratings`,children:t.ratings}),(0,V.jsx)(xe,{shop:g})]}),(0,V.jsxs)(`section`,{"aria-labelledby":`notes`,children:[(0,V.jsxs)(`div`,{className:Z.heading,children:[(0,V.jsx)(`h2`,{id:`notes`,children:t.notes}),(0,V.jsxs)(r,{small:!0,kind:`quiet`,href:`/publish?shop=${e}`,children:[(0,V.jsx)(j,{"aria-hidden":`true`,size:18}),t.write]})]}),(0,V.jsx)(te,{name:`notes`,document:Be,variables:{id:e},connection:({shop:e})=>e?.notes,className:Z.list,loading:(0,V.jsx)(c,{shape:`card`}),empty:(0,V.jsx)(ne,{title:t.noNotes}),children:({node:e})=>(0,V.jsx)(f,{note:e})})]})]}),(0,V.jsxs)(`section`,{className:Z.where,"aria-labelledby":`where`,children:[(0,V.jsx)(`h2`,{id:`where`,children:t.where}),(0,V.jsx)(Ie,{shop:g})]})]})}):g===null||l&&re(l)===`BAD_USER_INPUT`?(0,V.jsx)(S,{}):(0,V.jsx)(h,{title:t.title,backTo:`/`,children:l?(0,V.jsx)(p,{error:l,onRetry:()=>d({requestPolicy:`network-only`})}):(0,V.jsx)(c,{shape:`card`})})}function He({shop:e,onHoursChange:n}){let r=Q(),{hours:i,openHours:a,phone:o}=e,s=o===null?null:Ce(o),c=e.website===null?null:we(e.website);return(0,V.jsxs)(`dl`,{className:Z.details,children:[(0,V.jsxs)($,{icon:d,label:r.address,children:[(0,V.jsx)(`bdi`,{children:e.address}),e.area!==null&&(0,V.jsx)(`span`,{className:Z.area,dir:`auto`,children:e.area})]}),(i!==null||a!==null)&&(0,V.jsx)($,{icon:t,label:r.hours,children:i===null?(0,V.jsx)(`bdi`,{children:a}):(0,V.jsx)(Ee,{shop:{...e,hours:i},onChange:n})}),o!==null&&(0,V.jsx)($,{icon:N,label:r.phone,children:s===null?(0,V.jsx)(`bdi`,{children:o}):(0,V.jsx)(`a`,{href:s,children:o})}),c!==null&&(0,V.jsx)($,{icon:me,label:r.website,children:(0,V.jsx)(`a`,{href:c.url,target:`_blank`,rel:`noopener noreferrer nofollow ugc`,dir:`auto`,children:c.name})})]})}function $({icon:e,label:t,children:n}){return(0,V.jsxs)(`div`,{children:[(0,V.jsxs)(`dt`,{children:[(0,V.jsx)(e,{"aria-hidden":`true`,size:18}),(0,V.jsx)(`span`,{className:`visually-hidden`,children:t})]}),(0,V.jsx)(`dd`,{children:n})]})}export{Ve as Shop,L as a,z as i,_e as n,ye as r,ve as t};