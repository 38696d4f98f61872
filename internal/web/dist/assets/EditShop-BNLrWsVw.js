import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{r as t}from"./prepareImage-CgYLiE2m.js";import{A as n,N as r,O as i,V as a,_ as o,f as s,g as c,h as l,v as u,y as d}from"./app-VJxpKxNi.js";import{S as f,l as p,m,s as h,t as g,u as _}from"./Screen-CJ1iDuWr.js";import{t as v}from"./trash-C-EClg_9.js";import{i as y,l as b}from"./preload-helper-DXbBgPnf.js";import{t as x}from"./useApiQuery-DhNs3sUT.js";import{t as ee}from"./AmountField-B2OuVP0S.js";import{a as S,i as C,o as te,r as ne}from"./number-BzuzUFx-.js";import{t as w}from"./useUpload-708U5ZYd.js";import{a as T,l as E,s as re,t as D}from"./fieldFormat-Kp3QnKNQ.js";import{t as ie}from"./types.gql-qD06LI7V.js";import{n as O}from"./toast--XnaLTgW.js";import{t as k}from"./document-D_a4HVPm.js";import{t as A}from"./RequireRole-Li0KlnjX.js";var j={name:`move-left`,size:24,node:[[`path`,{d:`M6 8L2 12L6 16`,key:`kyvwex`}],[`path`,{d:`M2 12H22`,key:`1m8cig`}]]};j.node;var M=m(j),N=e(b(),1),P=k(`d69057cb8b4e33768db96a8ca4d729a4d651b403c2d47b33e957d7550b97fea1`,`query ShopForm($id: ID!) {
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
}`),F=k(`03b39c0391c4dc7233e20503ae0a3d96105a42f0954b93857de86fc1f3ea4855`,`mutation CreateShop($input: CreateShopInput!) {
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
}`),I=k(`43cf9bb49a4ed456e7cd1186e2edbd61243ebfdddf731c6643ecdb4862a83414`,`mutation UpdateShop($input: UpdateShopInput!) {
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
}`),L={pictures:`_pictures_13rln_1`,hint:`_hint_13rln_13`,error:`_error_13rln_18`,tools:`_tools_13rln_42`,position:`_position_13rln_47`},R=y(),z=_({newTitle:`New shop`,editTitle:`Edit shop`,notFound:`This shop doesn’t exist.`,pictures:`Photos`,picturesHint:`Up to 9. The first is the cover.`,add:`Add photos`,uploading:`Uploading photo`,remove:e=>`Remove photo ${e}`,first:e=>`Make photo ${e} the cover`,picture:e=>`Photo ${e}`,name:`Shop name`,nameBounds:`Enter 1 to 120 characters.`,type:`Category`,choose:`Choose a category`,typeBounds:`Choose a category.`,area:`Neighbourhood`,areaBounds:`Use at most 80 characters.`,address:`Address`,addressBounds:`Enter the street and number, at most 255 characters.`,lat:`Latitude`,lng:`Longitude`,latBounds:`Enter degrees from -85.05 to 85.05.`,lngBounds:`Enter degrees from -180 to 180.`,here:`Use my location`,noPosition:`We couldn’t get your location. Enter the coordinates instead.`,price:`Average spend per person (¥)`,priceBounds:`Enter an amount from 0 to 1,000,000.`,hours:`Opening hours`,hoursHint:`e.g. Mon–Sun 10:00–22:00`,hoursBounds:`Use at most 120 characters.`,create:`Create shop`,save:`Save`,saved:`Saved.`,created:`Your shop is live.`},{newTitle:`新建店铺`,editTitle:`编辑店铺`,notFound:`店铺不存在。`,pictures:`图片`,picturesHint:`最多 9 张，第一张为封面。`,add:`添加图片`,uploading:`正在上传图片`,remove:e=>`移除第 ${e} 张图片`,first:e=>`将第 ${e} 张图片设为封面`,picture:e=>`第 ${e} 张图片`,name:`店铺名称`,nameBounds:`请输入 1 到 120 个字符。`,type:`分类`,choose:`请选择`,typeBounds:`请选择分类。`,area:`商圈`,areaBounds:`最多 80 个字符。`,address:`地址`,addressBounds:`请输入街道与门牌号，最多 255 个字符。`,lat:`纬度`,lng:`经度`,latBounds:`请输入 -85.05 到 85.05 之间的度数。`,lngBounds:`请输入 -180 到 180 之间的度数。`,here:`使用当前位置`,noPosition:`无法获取你的位置，请手动填写经纬度。`,price:`人均消费（元）`,priceBounds:`请输入 0 到 1,000,000 之间的金额。`,hours:`营业时间`,hoursHint:`例如：周一至周日 10:00–22:00`,hoursBounds:`最多 120 个字符。`,create:`创建店铺`,save:`保存`,saved:`已保存。`,created:`店铺已创建，顾客现在可以找到它。`});function B(){let e=z();return(0,R.jsx)(g,{title:e.newTitle,backTo:`/merchant`,children:(0,R.jsx)(A,{role:`MERCHANT`,children:(0,R.jsx)(U,{shop:null})})})}function V({id:e}){let t=z(),[{data:n,error:r},i]=x({query:P,variables:{id:e},requestPolicy:`network-only`,refetchOnResume:!1});return(0,R.jsx)(g,{title:t.editTitle,backTo:`/merchant/shops/${e}`,children:(0,R.jsx)(A,{role:`MERCHANT`,children:n?.shop?(0,R.jsx)(U,{shop:n.shop}):r?(0,R.jsx)(c,{error:r,onRetry:()=>i({requestPolicy:`network-only`})}):n?(0,R.jsx)(l,{title:t.notFound}):(0,R.jsx)(o,{shape:`text`,count:5})})})}var H=9,ae=[`images`,`name`,`typeId`,`area`,`address`,`lat`,`lng`,`avgPrice`,`openHours`];function U({shop:e}){let t=z(),n=s(),[,r]=f(),[{data:o}]=x({query:ie,variables:{},requestPolicy:`cache-first`}),[c,l]=i(F,{toastErrors:!1}),[p,m]=i(I,{toastErrors:!1}),[g,_]=(0,N.useState)([]),v=te(g),[y]=(0,N.useState)(()=>se(e)),[b,w]=(0,N.useState)(y.images),[D,k]=(0,N.useState)(!1),[A,j]=(0,N.useState)(y.name),[M,P]=(0,N.useState)(y.typeId),[B,V]=(0,N.useState)(y.area),[H,U]=(0,N.useState)(y.address),[K,q]=(0,N.useState)(y.lat),[J,Y]=(0,N.useState)(y.lng),[X,le]=(0,N.useState)(y.price),[Z,ue]=(0,N.useState)(y.hours),de=async()=>{let n={name:A.trim(),typeId:M,images:b.map(({url:e})=>e),area:E(B),address:H.trim(),location:{lat:T(K)??0,lng:T(J)??0},avgPrice:E(X)===null?null:re(X),openHours:E(Z)},i=e===null,a={name:i||A!==y.name,typeId:i||M!==y.typeId,images:i||String(n.images)!==String(y.images.map(({url:e})=>e)),area:i||B!==y.area,address:i||H!==y.address,location:i||K!==y.lat||J!==y.lng,avgPrice:i||X!==y.price,openHours:i||Z!==y.hours},o=[a.name&&!W(A,1,120)&&S(`name`),a.typeId&&M===``&&S(`typeId`),a.area&&!W(B,0,80)&&S(`area`),a.address&&!W(H,1,255)&&S(`address`),(i||K!==y.lat)&&!G(T(K),85.05)&&S(`lat`),(i||J!==y.lng)&&!G(T(J),180)&&S(`lng`),a.avgPrice&&E(X)!==null&&!G(n.avgPrice,oe)&&S(`avgPrice`),a.openHours&&!W(Z,0,120)&&S(`openHours`)].filter(e=>e!==!1);if(_(o),o.length>0)return;let s=Object.keys(a),l=Object.fromEntries(s.filter(e=>a[e]).map(e=>[e,n[e]])),u=i?await c({input:n}):await p({input:{...l,id:e.id}});_(u.ok?[]:u.userErrors);let d=u.ok?u.value.shop:null;d!==null&&(O(e===null?t.created:t.saved),r(`/merchant/shops/${d.id}`,{replace:!0}))},Q=o?.shopTypes??[],fe=[...e===null||Q.some(({id:t})=>t===e.type.id)?[]:[e.type],...Q],$=()=>O(t.noPosition);return(0,R.jsxs)(ne,{label:e===null?t.newTitle:t.editTitle,userErrors:g,fields:ae,onSubmit:()=>void de(),children:[(0,R.jsx)(u,{label:t.name,error:v(`name`,t.nameBounds),limit:120,value:A,onChange:e=>j(e.target.value)}),(0,R.jsx)(d,{label:t.type,error:v(`typeId`,t.typeBounds),children:e=>(0,R.jsxs)(`select`,{...e,value:M,onChange:e=>P(e.target.value),children:[(0,R.jsx)(`option`,{value:``,children:t.choose}),fe.map(e=>(0,R.jsx)(`option`,{value:e.id,dir:`auto`,children:n(e.name)},e.id))]})}),(0,R.jsx)(ce,{images:b,setImages:w,error:v(`images`),onBusy:k}),(0,R.jsxs)(C,{children:[(0,R.jsx)(u,{label:t.address,error:v(`address`,t.addressBounds),limit:255,autoComplete:`off`,value:H,onChange:e=>U(e.target.value)}),(0,R.jsx)(u,{label:t.area,error:v(`area`,t.areaBounds),limit:80,value:B,onChange:e=>V(e.target.value)})]}),(0,R.jsxs)(`div`,{className:L.position,children:[(0,R.jsxs)(C,{children:[(0,R.jsx)(u,{label:t.lat,error:v(`lat`,t.latBounds),inputMode:`text`,autoComplete:`off`,value:K,onChange:e=>q(e.target.value)}),(0,R.jsx)(u,{label:t.lng,error:v(`lng`,t.lngBounds),inputMode:`text`,autoComplete:`off`,value:J,onChange:e=>Y(e.target.value)})]}),(0,R.jsxs)(h,{kind:`quiet`,small:!0,onClick:()=>{`geolocation`in navigator?navigator.geolocation.getCurrentPosition(({coords:e})=>{q(e.latitude.toFixed(6)),Y(e.longitude.toFixed(6))},$):$()},children:[(0,R.jsx)(a,{"aria-hidden":`true`,size:18}),` `,t.here]})]}),(0,R.jsx)(ee,{label:t.price,error:v(`avgPrice`,t.priceBounds),value:X,onChange:le}),(0,R.jsx)(u,{label:t.hours,hint:t.hoursHint,error:v(`openHours`,t.hoursBounds),limit:120,value:Z,onChange:e=>ue(e.target.value)}),(0,R.jsx)(h,{type:`submit`,wide:!0,busy:l||m||D,children:e===null?t.create:t.save})]})}var oe=1e8;function se(e){return{images:e?.images??[],name:e?.name??``,typeId:e?.type.id??``,area:e?.area??``,address:e?.address??``,lat:e===null?``:String(e.location.lat),lng:e===null?``:String(e.location.lng),price:D(e?.avgPrice??null),hours:e?.openHours??``}}function W(e,t,n){let i=r(e);return i>=t&&i<=n}function G(e,t){return e!==null&&Math.abs(e)<=t}function ce({images:e,setImages:r,error:i,onBusy:a}){let o=z(),[s,c]=w(),[l,u]=(0,N.useState)(!1),d=(0,N.useRef)(null),f=async t=>{d.current&&(d.current.value=``),u(!0),a(!0);for(let n of t.slice(0,H-e.length)){let e=await s(n);e&&r(t=>t.some(({url:t})=>t===e.url)?t:[...t,e])}u(!1),a(!1)};return(0,R.jsxs)(`fieldset`,{className:L.pictures,children:[(0,R.jsx)(`legend`,{children:o.pictures}),(0,R.jsx)(`p`,{className:L.hint,children:o.picturesHint}),(0,R.jsx)(`ul`,{children:e.map(({url:e,thumbnailUrl:t},i)=>(0,R.jsxs)(`li`,{children:[(0,R.jsx)(n,{src:t,alt:o.picture(i+1),ratio:1}),(0,R.jsxs)(`div`,{className:L.tools,children:[i>0&&(0,R.jsx)(p,{label:o.first(i+1),onClick:()=>r(t=>[...t.filter(t=>t.url===e),...t.filter(t=>t.url!==e)]),children:(0,R.jsx)(M,{"aria-hidden":`true`,size:18})}),(0,R.jsx)(p,{label:o.remove(i+1),onClick:()=>r(t=>t.filter(t=>t.url!==e)),children:(0,R.jsx)(v,{"aria-hidden":`true`,size:18})})]})]},e))}),(0,R.jsx)(`input`,{ref:d,type:`file`,hidden:!0,multiple:!0,accept:`image/jpeg,image/png,image/webp`,"aria-label":o.add,"data-input":`pictures`,onChange:e=>void f([...e.target.files??[]])}),e.length<H&&(0,R.jsxs)(h,{kind:`quiet`,small:!0,busy:l,onClick:()=>d.current?.click(),children:[!l&&(0,R.jsx)(t,{"aria-hidden":`true`,size:18}),` `,o.add]}),c!==null&&(0,R.jsx)(`progress`,{"aria-label":o.uploading,max:1,value:c}),i&&(0,R.jsx)(`p`,{role:`alert`,className:L.error,children:i})]})}export{V as EditShop,B as NewShop};