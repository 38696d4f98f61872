import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{r as t}from"./prepareImage-D65wNTfe.js";import{D as n,E as r,I as i,O as a,T as o,_ as s,d as c,q as l,w as u,z as d}from"./app-B0ZPWHu3.js";import{h as f,i as p,r as m,s as h,t as g}from"./Button-BJNnZ8XN.js";import{t as _}from"./trash-lLKKbU10.js";import{i as v,l as y}from"./preload-helper-DXbBgPnf.js";import{t as b}from"./useApiQuery-DhNs3sUT.js";import{t as x}from"./useApiMutation-fQMMxfHh.js";import{t as ee}from"./AmountField-62slblpC.js";import{i as te,n as S,r as C,t as ne}from"./Form-DKVLoJqR.js";import{t as w}from"./useUpload-BKMLxyqZ.js";import{a as T,l as E,s as re,t as D}from"./fieldFormat-CpYQQVrS.js";import{t as ie}from"./types.gql-qD06LI7V.js";import{t as O}from"./useHoursTexts-CVUz2YEq.js";import{n as k}from"./toast--XnaLTgW.js";import{t as A}from"./document-D_a4HVPm.js";import{t as j}from"./RequireRole-6NQrdQ87.js";var M={name:`move-left`,size:24,node:[[`path`,{d:`M6 8L2 12L6 16`,key:`kyvwex`}],[`path`,{d:`M2 12H22`,key:`1m8cig`}]]};M.node;var N=h(M),P=e(y(),1),F=A(`d47fb55708caa5eb8b470ddbed719a14733097b03072f2c7d84fa64309c02f5b`,`query ShopForm($id: ID!) {
  shop(id: $id) {
    ...ShopForm
    __typename
  }
}
fragment ShopForm on Shop {
  id
  name
  area
  address
  avgPrice
  openHours
  phone
  website
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
    __typename
  }
  type {
    id
    name
    __typename
  }
  location {
    lat
    lng
    __typename
  }
  images {
    url
    thumbnailUrl
    __typename
  }
  __typename
}`),ae=A(`a5564b6ac2775d57d0e24f4801de63fb8fbedab7661301ad4e4781260640f08e`,`mutation CreateShop($input: CreateShopInput!) {
  createShop(input: $input) {
    shop {
      ...ShopForm
      __typename
    }
    userErrors {
      ...Refused
      __typename
    }
    __typename
  }
}
fragment ShopForm on Shop {
  id
  name
  area
  address
  avgPrice
  openHours
  phone
  website
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
    __typename
  }
  type {
    id
    name
    __typename
  }
  location {
    lat
    lng
    __typename
  }
  images {
    url
    thumbnailUrl
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
}`),oe=A(`95a191551cbba82df0e37d0b89e59a03f07a73bb444af73e06e4419ecb8dc571`,`mutation UpdateShop($input: UpdateShopInput!) {
  updateShop(input: $input) {
    shop {
      ...ShopForm
      __typename
    }
    userErrors {
      ...Refused
      __typename
    }
    __typename
  }
}
fragment ShopForm on Shop {
  id
  name
  area
  address
  avgPrice
  openHours
  phone
  website
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
    __typename
  }
  type {
    id
    name
    __typename
  }
  location {
    lat
    lng
    __typename
  }
  images {
    url
    thumbnailUrl
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
}`),I={pictures:`_pictures_13rln_1`,hint:`_hint_13rln_13`,error:`_error_13rln_18`,tools:`_tools_13rln_42`,position:`_position_13rln_47`},L=v(),R=p({newTitle:`New shop`,editTitle:`Edit shop`,notFound:`This shop doesn’t exist.`,pictures:`Photos`,picturesHint:`Up to 9. The first is the cover.`,add:`Add photos`,uploading:`Uploading photo`,remove:e=>`Remove photo ${e}`,first:e=>`Make photo ${e} the cover`,picture:e=>`Photo ${e}`,name:`Shop name`,nameBounds:`Enter 1 to 120 characters.`,type:`Category`,choose:`Choose a category`,typeBounds:`Choose a category.`,area:`Neighbourhood`,areaBounds:`Use at most 80 characters.`,address:`Address`,addressBounds:`Enter the street and number, at most 255 characters.`,lat:`Latitude`,lng:`Longitude`,latBounds:`Enter degrees from -85.05 to 85.05.`,lngBounds:`Enter degrees from -180 to 180.`,here:`Use my location`,noPosition:`We couldn’t get your location. Enter the coordinates instead.`,price:`Average spend per person (¥)`,priceBounds:`Enter an amount from 0 to 1,000,000.`,hours:`Opening hours`,hoursHint:`e.g. Mo-Fr 08:00-22:00; Sa,Su 09:00-23:00`,hoursRead:e=>`Shown as: ${e}`,hoursText:`Shown as you wrote it. For “Open now”, write e.g. Mo-Fr 08:00-22:00.`,hoursBounds:`Use at most 250 characters.`,zone:`Time zone`,zoneHint:`e.g. Asia/Shanghai. Empty is the server’s zone.`,zoneBounds:`Enter a time zone such as Asia/Shanghai.`,phone:`Phone`,phoneBounds:`Use at most 40 characters.`,website:`Website`,websiteBounds:`Enter an address such as https://example.com.`,create:`Create shop`,save:`Save`,saved:`Saved.`,created:`Your shop is live.`},{newTitle:`新建店铺`,editTitle:`编辑店铺`,notFound:`店铺不存在。`,pictures:`图片`,picturesHint:`最多 9 张，第一张为封面。`,add:`添加图片`,uploading:`正在上传图片`,remove:e=>`移除第 ${e} 张图片`,first:e=>`将第 ${e} 张图片设为封面`,picture:e=>`第 ${e} 张图片`,name:`店铺名称`,nameBounds:`请输入 1 到 120 个字符。`,type:`分类`,choose:`请选择`,typeBounds:`请选择分类。`,area:`商圈`,areaBounds:`最多 80 个字符。`,address:`地址`,addressBounds:`请输入街道与门牌号，最多 255 个字符。`,lat:`纬度`,lng:`经度`,latBounds:`请输入 -85.05 到 85.05 之间的度数。`,lngBounds:`请输入 -180 到 180 之间的度数。`,here:`使用当前位置`,noPosition:`无法获取你的位置，请手动填写经纬度。`,price:`人均消费（元）`,priceBounds:`请输入 0 到 1,000,000 之间的金额。`,hours:`营业时间`,hoursHint:`例如：Mo-Fr 08:00-22:00; Sa,Su 09:00-23:00`,hoursRead:e=>`显示为：${e}`,hoursText:`按原文显示。如需显示“营业中”，请按此格式填写：Mo-Fr 08:00-22:00`,hoursBounds:`最多 250 个字符。`,zone:`时区`,zoneHint:`例如 Asia/Shanghai，留空则使用服务器时区。`,zoneBounds:`请输入时区，例如 Asia/Shanghai。`,phone:`电话`,phoneBounds:`最多 40 个字符。`,website:`网站`,websiteBounds:`请输入网址，例如 https://example.com。`,create:`创建店铺`,save:`保存`,saved:`已保存。`,created:`店铺已创建，顾客现在可以找到它。`});function z(){let e=R();return(0,L.jsx)(c,{title:e.newTitle,backTo:`/merchant`,children:(0,L.jsx)(j,{role:`MERCHANT`,children:(0,L.jsx)(H,{shop:null})})})}function B({id:e}){let t=R(),[{data:n,error:i},a]=b({query:F,variables:{id:e},requestPolicy:`network-only`,refetchOnResume:!1});return(0,L.jsx)(c,{title:t.editTitle,backTo:`/merchant/shops/${e}`,children:(0,L.jsx)(j,{role:`MERCHANT`,children:n?.shop?(0,L.jsx)(H,{shop:n.shop}):i?(0,L.jsx)(o,{error:i,onRetry:()=>a({requestPolicy:`network-only`})}):n?(0,L.jsx)(u,{title:t.notFound}):(0,L.jsx)(r,{shape:`text`,count:5})})})}var V=9,se=[`images`,`name`,`typeId`,`area`,`address`,`lat`,`lng`,`avgPrice`,`openHours`,`timeZone`,`phone`,`website`];function H({shop:e}){let t=R(),r=s(),[,i]=f(),[{data:o}]=b({query:ie,variables:{},requestPolicy:`cache-first`}),[c,u]=x(ae,{toastErrors:!1}),[d,p]=x(oe,{toastErrors:!1}),[m,h]=(0,P.useState)([]),_=te(m),[v]=(0,P.useState)(()=>le(e)),[y,w]=(0,P.useState)(v.images),[D,O]=(0,P.useState)(!1),[A,j]=(0,P.useState)(v.name),[M,N]=(0,P.useState)(v.typeId),[F,z]=(0,P.useState)(v.area),[B,V]=(0,P.useState)(v.address),[H,G]=(0,P.useState)(v.lat),[K,q]=(0,P.useState)(v.lng),[J,pe]=(0,P.useState)(v.price),[Y,me]=(0,P.useState)(v.hours),[X,he]=(0,P.useState)(v.timeZone),[Z,ge]=(0,P.useState)(v.phone),[Q,_e]=(0,P.useState)(v.website),$=ue(),ve=async()=>{let n={name:A.trim(),typeId:M,images:y.map(({url:e})=>e),area:E(F),address:B.trim(),location:{lat:T(H)??0,lng:T(K)??0},avgPrice:E(J)===null?null:re(J),openHours:E(Y),timeZone:E(X),phone:E(Z),website:de(Q)},r=e===null,a={name:r||A!==v.name,typeId:r||M!==v.typeId,images:r||String(n.images)!==String(v.images.map(({url:e})=>e)),area:r||F!==v.area,address:r||B!==v.address,location:r||H!==v.lat||K!==v.lng,avgPrice:r||J!==v.price,openHours:r||Y!==v.hours,timeZone:r||X!==v.timeZone,phone:r||Z!==v.phone,website:r||Q!==v.website},o=[a.name&&!U(A,1,120)&&C(`name`),a.typeId&&M===``&&C(`typeId`),a.area&&!U(F,0,80)&&C(`area`),a.address&&!U(B,1,255)&&C(`address`),(r||H!==v.lat)&&!W(T(H),85.05)&&C(`lat`),(r||K!==v.lng)&&!W(T(K),180)&&C(`lng`),a.avgPrice&&E(J)!==null&&!W(n.avgPrice,ce)&&C(`avgPrice`),a.openHours&&!U(Y,0,250)&&C(`openHours`),a.phone&&!U(Z,0,40)&&C(`phone`),a.website&&!U(Q,0,300)&&C(`website`)].filter(e=>e!==!1);if(h(o),o.length>0)return;let s=Object.keys(a),l=Object.fromEntries(s.filter(e=>a[e]).map(e=>[e,n[e]])),u=r?await c({input:n}):await d({input:{...l,id:e.id}});h(u.ok?[]:u.userErrors);let f=u.ok?u.value.shop:null;if(f===null)return;let p=a.openHours?$(f):void 0;k([e===null?t.created:t.saved,p].filter(Boolean).join(` `)),i(`/merchant/shops/${f.id}`,{replace:!0})},ye=o?.shopTypes??[],be=[...e===null||ye.some(({id:t})=>t===e.type.id)?[]:[e.type],...ye],xe=()=>k(t.noPosition);return(0,L.jsxs)(ne,{label:e===null?t.newTitle:t.editTitle,userErrors:m,fields:se,onSubmit:()=>void ve(),children:[(0,L.jsx)(n,{label:t.name,error:_(`name`,t.nameBounds),limit:120,value:A,onChange:e=>j(e.target.value)}),(0,L.jsx)(a,{label:t.type,error:_(`typeId`,t.typeBounds),children:e=>(0,L.jsxs)(`select`,{...e,value:M,onChange:e=>N(e.target.value),children:[(0,L.jsx)(`option`,{value:``,children:t.choose}),be.map(e=>(0,L.jsx)(`option`,{value:e.id,dir:`auto`,children:r(e.name)},e.id))]})}),(0,L.jsx)(fe,{images:y,setImages:w,error:_(`images`),onBusy:O}),(0,L.jsxs)(S,{children:[(0,L.jsx)(n,{label:t.address,error:_(`address`,t.addressBounds),limit:255,autoComplete:`off`,value:B,onChange:e=>V(e.target.value)}),(0,L.jsx)(n,{label:t.area,error:_(`area`,t.areaBounds),limit:80,value:F,onChange:e=>z(e.target.value)})]}),(0,L.jsxs)(`div`,{className:I.position,children:[(0,L.jsxs)(S,{children:[(0,L.jsx)(n,{label:t.lat,error:_(`lat`,t.latBounds),inputMode:`text`,autoComplete:`off`,value:H,onChange:e=>G(e.target.value)}),(0,L.jsx)(n,{label:t.lng,error:_(`lng`,t.lngBounds),inputMode:`text`,autoComplete:`off`,value:K,onChange:e=>q(e.target.value)})]}),(0,L.jsxs)(g,{kind:`quiet`,small:!0,onClick:()=>{`geolocation`in navigator?navigator.geolocation.getCurrentPosition(({coords:e})=>{G(e.latitude.toFixed(6)),q(e.longitude.toFixed(6))},xe):xe()},children:[(0,L.jsx)(l,{"aria-hidden":`true`,size:18}),` `,t.here]})]}),(0,L.jsx)(ee,{label:t.price,error:_(`avgPrice`,t.priceBounds),value:J,onChange:pe}),(0,L.jsx)(n,{label:t.hours,hint:e!==null&&Y===v.hours&&$(e)||t.hoursHint,error:_(`openHours`,t.hoursBounds),limit:250,value:Y,onChange:e=>me(e.target.value)}),(0,L.jsx)(n,{label:t.zone,hint:t.zoneHint,error:_(`timeZone`,t.zoneBounds),autoComplete:`off`,autoCapitalize:`off`,spellCheck:!1,value:X,onChange:e=>he(e.target.value)}),(0,L.jsxs)(S,{children:[(0,L.jsx)(n,{label:t.phone,type:`tel`,error:_(`phone`,t.phoneBounds),limit:40,autoComplete:`off`,value:Z,onChange:e=>ge(e.target.value)}),(0,L.jsx)(n,{label:t.website,inputMode:`url`,dir:`ltr`,error:_(`website`,t.websiteBounds),limit:300,autoComplete:`off`,autoCapitalize:`off`,value:Q,onChange:e=>_e(e.target.value)})]}),(0,L.jsx)(g,{type:`submit`,wide:!0,busy:u||p||D,children:e===null?t.create:t.save})]})}var ce=1e8;function le(e){return{images:e?.images??[],name:e?.name??``,typeId:e?.type.id??``,area:e?.area??``,address:e?.address??``,lat:e===null?``:String(e.location.lat),lng:e===null?``:String(e.location.lng),price:D(e?.avgPrice??null),hours:e?.openHours??``,timeZone:e?.timeZone??Intl.DateTimeFormat().resolvedOptions().timeZone,phone:e?.phone??``,website:e?.website??``}}function ue(){let e=R(),t=O();return({hours:n,openHours:r})=>n===null?r===null?void 0:e.hoursText:e.hoursRead(t.week(n.week))}function de(e){let t=E(e);return t===null||/^[a-z][a-z0-9+.-]*:/i.test(t)?t:`https://${t}`}function U(e,t,n){let r=d(e);return r>=t&&r<=n}function W(e,t){return e!==null&&Math.abs(e)<=t}function fe({images:e,setImages:n,error:r,onBusy:a}){let o=R(),[s,c]=w(),[l,u]=(0,P.useState)(!1),d=(0,P.useRef)(null),f=async t=>{d.current&&(d.current.value=``),u(!0),a(!0);for(let r of t.slice(0,V-e.length)){let e=await s(r);e&&n(t=>t.some(({url:t})=>t===e.url)?t:[...t,e])}u(!1),a(!1)};return(0,L.jsxs)(`fieldset`,{className:I.pictures,children:[(0,L.jsx)(`legend`,{children:o.pictures}),(0,L.jsx)(`p`,{className:I.hint,children:o.picturesHint}),(0,L.jsx)(`ul`,{children:e.map(({url:e,thumbnailUrl:t},r)=>(0,L.jsxs)(`li`,{children:[(0,L.jsx)(i,{src:t,alt:o.picture(r+1),ratio:1}),(0,L.jsxs)(`div`,{className:I.tools,children:[r>0&&(0,L.jsx)(m,{label:o.first(r+1),onClick:()=>n(t=>[...t.filter(t=>t.url===e),...t.filter(t=>t.url!==e)]),children:(0,L.jsx)(N,{"aria-hidden":`true`,size:18})}),(0,L.jsx)(m,{label:o.remove(r+1),onClick:()=>n(t=>t.filter(t=>t.url!==e)),children:(0,L.jsx)(_,{"aria-hidden":`true`,size:18})})]})]},e))}),(0,L.jsx)(`input`,{ref:d,type:`file`,hidden:!0,multiple:!0,accept:`image/jpeg,image/png,image/webp`,"aria-label":o.add,"data-input":`pictures`,onChange:e=>void f([...e.target.files??[]])}),e.length<V&&(0,L.jsxs)(g,{kind:`quiet`,small:!0,busy:l,onClick:()=>d.current?.click(),children:[!l&&(0,L.jsx)(t,{"aria-hidden":`true`,size:18}),` `,o.add]}),c!==null&&(0,L.jsx)(`progress`,{"aria-label":o.uploading,max:1,value:c}),r&&(0,L.jsx)(`p`,{role:`alert`,className:I.error,children:r})]})}export{B as EditShop,z as NewShop};