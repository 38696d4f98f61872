import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{r as t}from"./shrink-Bt_qKjCY.js";import{A as n,_ as r,b as i,f as a,g as o,h as s,k as c,y as l,z as u}from"./app-C5XjqgC4.js";import{S as d,l as f,m as p,s as m,t as h,u as g}from"./Screen-DN1Y-HZ_.js";import{t as _}from"./trash-DTicX5al.js";import{a as v,n as y}from"./preload-helper-Chrg9qMa.js";import{t as b}from"./useAsk-ChgyYjXc.js";import{a as x,n as S,r as C,t as w}from"./Form-8fiyXdR8.js";import{t as T}from"./upload-ebBs6u_y.js";import{a as E,i as D,n as ee,o as O}from"./written-DLl5HEzf.js";import{t as k}from"./types.gql-BUsn1si6.js";import{n as A}from"./toast-DI_pCogT.js";import{t as j}from"./document-bm9CNBvx.js";import{t as M}from"./ForRole-zz8dFxmN.js";var N={name:`move-left`,size:24,node:[[`path`,{d:`M6 8L2 12L6 16`,key:`kyvwex`}],[`path`,{d:`M2 12H22`,key:`1m8cig`}]]};N.node;var P=p(N),F=e(v(),1),I=j(`d69057cb8b4e33768db96a8ca4d729a4d651b403c2d47b33e957d7550b97fea1`,`query ShopForm($id: ID!) {
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
}`),te=j(`8e79e8ac84ab7ee2f20dcd387960da266ce242c57e83d8993d730d3fdf3f2e47`,`mutation CreateShop($input: CreateShopInput!) {
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
  __typename
}`),ne=j(`2130d13dfade51d7bc0f85084f47e43fc3228c694f95c2569764f4e2fe90745c`,`mutation UpdateShop($input: UpdateShopInput!) {
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
  __typename
}`),L={pictures:`_pictures_13rln_1`,hint:`_hint_13rln_13`,error:`_error_13rln_18`,tools:`_tools_13rln_42`,position:`_position_13rln_47`},R=y(),z=g({newTitle:`New shop`,editTitle:`Edit shop`,gone:`There is no such shop.`,pictures:`Pictures`,picturesHint:`Up to 9. The first one stands in lists.`,add:`Add pictures`,uploading:`Uploading a picture`,remove:e=>`Remove picture ${e}`,first:e=>`Move picture ${e} to the front`,picture:e=>`Picture ${e}`,name:`Name`,nameBounds:`1 to 120 characters.`,type:`Kind`,choose:`Please choose`,typeBounds:`A shop needs a kind.`,area:`Quarter`,areaBounds:`At most 80 characters.`,address:`Address`,addressBounds:`Street and number, at most 255 characters.`,lat:`Latitude`,lng:`Longitude`,latBounds:`-85.05 to 85.05 degrees.`,lngBounds:`-180 to 180 degrees.`,here:`Use my position`,noPosition:`The browser does not say where you are. Please enter it.`,price:`Average spend a person, in yuan`,priceBounds:`An amount from 0 to 1,000,000.`,hours:`Opening hours`,hoursHint:`As people write it, such as Mon–Sun 10:00–22:00.`,hoursBounds:`At most 120 characters.`,create:`Open the shop`,save:`Save`,saved:`Saved.`,created:`Your shop can be found now.`},{newTitle:`新建店铺`,editTitle:`编辑店铺`,gone:`店铺不存在。`,pictures:`图片`,picturesHint:`最多 9 张，第一张为封面。`,add:`添加图片`,uploading:`正在上传图片`,remove:e=>`移除第 ${e} 张图片`,first:e=>`将第 ${e} 张图片设为封面`,picture:e=>`第 ${e} 张图片`,name:`店名`,nameBounds:`1 到 120 个字符。`,type:`分类`,choose:`请选择`,typeBounds:`请选择店铺分类。`,area:`商圈`,areaBounds:`最多 80 个字符。`,address:`地址`,addressBounds:`街道与门牌号，最多 255 个字符。`,lat:`纬度`,lng:`经度`,latBounds:`-85.05 到 85.05 度。`,lngBounds:`-180 到 180 度。`,here:`使用当前位置`,noPosition:`浏览器无法获取位置，请手动填写。`,price:`人均消费（元）`,priceBounds:`0 到 1,000,000 之间的金额。`,hours:`营业时间`,hoursHint:`例如：周一至周日 10:00–22:00。`,hoursBounds:`最多 120 个字符。`,create:`创建店铺`,save:`保存`,saved:`已保存。`,created:`店铺已创建，顾客现在可以搜到。`});function B(){let e=z();return(0,R.jsx)(h,{title:e.newTitle,up:`/merchant`,children:(0,R.jsx)(M,{role:`MERCHANT`,children:(0,R.jsx)(U,{shop:null})})})}function V({id:e}){let t=z(),[{data:n,error:i},a]=b({query:I,variables:{id:e},requestPolicy:`network-only`,catchUp:!1});return(0,R.jsx)(h,{title:t.editTitle,up:`/merchant/shops/${e}`,children:(0,R.jsx)(M,{role:`MERCHANT`,children:n?.shop?(0,R.jsx)(U,{shop:n.shop}):i?(0,R.jsx)(o,{error:i,again:()=>a({requestPolicy:`network-only`})}):n?(0,R.jsx)(s,{title:t.gone}):(0,R.jsx)(r,{shape:`text`,count:5})})})}var H=9,re=[`images`,`name`,`typeId`,`area`,`address`,`lat`,`lng`,`avgPrice`,`openHours`];function U({shop:e}){let t=z(),n=a(),[,r]=d(),[{data:o}]=b({query:k,variables:{},requestPolicy:`cache-first`}),[s,f]=c(te,{say:!1}),[p,h]=c(ne,{say:!1}),[g,_]=(0,F.useState)([]),v=C(g),[y,T]=(0,F.useState)(e?.images??[]),[j,M]=(0,F.useState)(!1),[N,P]=(0,F.useState)(e?.name??``),[I,B]=(0,F.useState)(e?.type.id??``),[V,H]=(0,F.useState)(e?.area??``),[U,K]=(0,F.useState)(e?.address??``),[q,J]=(0,F.useState)(e===null?``:String(e.location.lat)),[Y,X]=(0,F.useState)(e===null?``:String(e.location.lng)),[Z,ie]=(0,F.useState)(O(e?.avgPrice??null)),[Q,ae]=(0,F.useState)(e?.openHours??``),oe=async()=>{let n={lat:D(q),lng:D(Y)},i=E(Z)===null?null:ee(Z),a=[N.trim()===``&&x(`name`),I===``&&x(`typeId`),U.trim()===``&&x(`address`),!W(n.lat,85.05)&&x(`lat`),!W(n.lng,180)&&x(`lng`),E(Z)!==null&&i===null&&x(`avgPrice`)].filter(e=>e!==!1);if(_(a),a.length>0)return;let o={name:N.trim(),typeId:I,images:y.map(({url:e})=>e),area:E(V),address:U.trim(),location:{lat:n.lat??0,lng:n.lng??0},avgPrice:i,openHours:E(Q)},c=e===null?await s({input:o}):await p({input:{...o,id:e.id}});_(c.ok?[]:c.refusals);let l=c.ok?c.value.shop:null;l!==null&&(A(e===null?t.created:t.saved),r(`/merchant/shops/${l.id}`,{replace:!0}))},$=()=>A(t.noPosition);return(0,R.jsxs)(w,{label:e===null?t.newTitle:t.editTitle,refusals:g,fields:re,onSubmit:()=>void oe(),children:[(0,R.jsx)(l,{label:t.name,error:v(`name`,t.nameBounds),maxLength:120,value:N,onChange:e=>P(e.target.value)}),(0,R.jsx)(i,{label:t.type,error:v(`typeId`,t.typeBounds),children:e=>(0,R.jsxs)(`select`,{...e,value:I,onChange:e=>B(e.target.value),children:[(0,R.jsx)(`option`,{value:``,children:t.choose}),o?.shopTypes.map(e=>(0,R.jsx)(`option`,{value:e.id,children:n(e.name)},e.id))]})}),(0,R.jsx)(G,{images:y,setImages:T,error:v(`images`),onBusy:M}),(0,R.jsxs)(S,{children:[(0,R.jsx)(l,{label:t.address,error:v(`address`,t.addressBounds),maxLength:255,autoComplete:`off`,value:U,onChange:e=>K(e.target.value)}),(0,R.jsx)(l,{label:t.area,error:v(`area`,t.areaBounds),maxLength:80,value:V,onChange:e=>H(e.target.value)})]}),(0,R.jsxs)(`div`,{className:L.position,children:[(0,R.jsxs)(S,{children:[(0,R.jsx)(l,{label:t.lat,error:v(`lat`,t.latBounds),inputMode:`text`,autoComplete:`off`,value:q,onChange:e=>J(e.target.value)}),(0,R.jsx)(l,{label:t.lng,error:v(`lng`,t.lngBounds),inputMode:`text`,autoComplete:`off`,value:Y,onChange:e=>X(e.target.value)})]}),(0,R.jsxs)(m,{kind:`quiet`,small:!0,onClick:()=>{`geolocation`in navigator?navigator.geolocation.getCurrentPosition(({coords:e})=>{J(e.latitude.toFixed(6)),X(e.longitude.toFixed(6))},$):$()},children:[(0,R.jsx)(u,{"aria-hidden":`true`,size:18}),` `,t.here]})]}),(0,R.jsx)(l,{label:t.price,error:v(`avgPrice`,t.priceBounds),inputMode:`decimal`,autoComplete:`off`,value:Z,onChange:e=>ie(e.target.value)}),(0,R.jsx)(l,{label:t.hours,hint:t.hoursHint,error:v(`openHours`,t.hoursBounds),maxLength:120,value:Q,onChange:e=>ae(e.target.value)}),(0,R.jsx)(m,{type:`submit`,wide:!0,busy:f||h||j,children:e===null?t.create:t.save})]})}function W(e,t){return e!==null&&Math.abs(e)<=t}function G({images:e,setImages:r,error:i,onBusy:a}){let o=z(),[s,c]=T(),[l,u]=(0,F.useState)(!1),d=(0,F.useRef)(null),p=async t=>{d.current&&(d.current.value=``),u(!0),a(!0);for(let n of t.slice(0,H-e.length)){let e=await s(n);e&&r(t=>t.some(({url:t})=>t===e.url)?t:[...t,e])}u(!1),a(!1)};return(0,R.jsxs)(`fieldset`,{className:L.pictures,children:[(0,R.jsx)(`legend`,{children:o.pictures}),(0,R.jsx)(`p`,{className:L.hint,children:o.picturesHint}),(0,R.jsx)(`ul`,{children:e.map(({url:e,thumbnailUrl:t},i)=>(0,R.jsxs)(`li`,{children:[(0,R.jsx)(n,{src:t,alt:o.picture(i+1),ratio:1}),(0,R.jsxs)(`div`,{className:L.tools,children:[i>0&&(0,R.jsx)(f,{label:o.first(i+1),onClick:()=>r(t=>[...t.filter(t=>t.url===e),...t.filter(t=>t.url!==e)]),children:(0,R.jsx)(P,{"aria-hidden":`true`,size:18})}),(0,R.jsx)(f,{label:o.remove(i+1),onClick:()=>r(t=>t.filter(t=>t.url!==e)),children:(0,R.jsx)(_,{"aria-hidden":`true`,size:18})})]})]},e))}),(0,R.jsx)(`input`,{ref:d,type:`file`,hidden:!0,multiple:!0,accept:`image/jpeg,image/png,image/webp`,"aria-label":o.add,"data-input":`pictures`,onChange:e=>void p([...e.target.files??[]])}),e.length<H&&(0,R.jsxs)(m,{kind:`quiet`,small:!0,busy:l,onClick:()=>d.current?.click(),children:[!l&&(0,R.jsx)(t,{"aria-hidden":`true`,size:18}),` `,o.add]}),c!==null&&(0,R.jsx)(`progress`,{"aria-label":o.uploading,max:1,value:c}),i&&(0,R.jsx)(`p`,{role:`alert`,className:L.error,children:i})]})}export{V as EditShop,B as NewShop};