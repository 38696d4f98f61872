import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{t}from"./image-plus-B-3KGlyC.js";import{M as n,O as r,f as i,g as a,h as o,k as s,m as c,v as l,y as u,z as d}from"./app-DtL_Xucx.js";import{S as f,l as p,m,s as h,t as g,u as _}from"./Screen-CySPHyEf.js";import{t as v}from"./trash-dPkD6qQT.js";import{a as y,n as b}from"./preload-helper-Chrg9qMa.js";import{i as x,n as S,r as ee,t as C}from"./Form-BxhddEQG.js";import{t as w}from"./upload-BGy0L7gy.js";import{a as T,i as E,n as te,o as ne}from"./written-DHUFrCzV.js";import{t as D}from"./types.gql-BUsn1si6.js";import{n as O}from"./toast-ZrJXNZZ4.js";import{t as k}from"./document-bm9CNBvx.js";import{t as A}from"./ForRole-qbwSfIHY.js";var j={name:`move-left`,size:24,node:[[`path`,{d:`M6 8L2 12L6 16`,key:`kyvwex`}],[`path`,{d:`M2 12H22`,key:`1m8cig`}]]};j.node;var M=m(j),N=e(y(),1),P=k(`d69057cb8b4e33768db96a8ca4d729a4d651b403c2d47b33e957d7550b97fea1`,`query ShopForm($id: ID!) {
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
}`),F=k(`8e79e8ac84ab7ee2f20dcd387960da266ce242c57e83d8993d730d3fdf3f2e47`,`mutation CreateShop($input: CreateShopInput!) {
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
}`),I=k(`2130d13dfade51d7bc0f85084f47e43fc3228c694f95c2569764f4e2fe90745c`,`mutation UpdateShop($input: UpdateShopInput!) {
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
}`),L={pictures:`_pictures_1mnh4_1`,hint:`_hint_1mnh4_13`,error:`_error_1mnh4_18`,tools:`_tools_1mnh4_37`,position:`_position_1mnh4_42`},R=b(),z=_({newTitle:`New shop`,editTitle:`Edit shop`,gone:`There is no such shop.`,pictures:`Pictures`,picturesHint:`Up to 9. The first one stands in lists.`,add:`Add pictures`,remove:e=>`Remove picture ${e}`,first:e=>`Move picture ${e} to the front`,picture:e=>`Picture ${e}`,name:`Name`,nameBounds:`1 to 120 characters.`,type:`Kind`,choose:`Please choose`,typeBounds:`A shop needs a kind.`,area:`Quarter`,areaBounds:`At most 80 characters.`,address:`Address`,addressBounds:`Street and number, at most 255 characters.`,lat:`Latitude`,lng:`Longitude`,latBounds:`-85.05 to 85.05 degrees.`,lngBounds:`-180 to 180 degrees.`,here:`Use my position`,noPosition:`The browser does not say where you are. Please enter it.`,price:`Average spend a person, in yuan`,priceBounds:`An amount from 0 to 1,000,000.`,hours:`Opening hours`,hoursHint:`As people write it, such as Mon–Sun 10:00–22:00.`,hoursBounds:`At most 120 characters.`,create:`Open the shop`,save:`Save`,saved:`Saved.`,created:`Your shop can be found now.`},{newTitle:`新建店铺`,editTitle:`编辑店铺`,gone:`店铺不存在。`,pictures:`图片`,picturesHint:`最多 9 张，第一张为封面。`,add:`添加图片`,remove:e=>`移除第 ${e} 张图片`,first:e=>`将第 ${e} 张图片设为封面`,picture:e=>`第 ${e} 张图片`,name:`店名`,nameBounds:`1 到 120 个字符。`,type:`分类`,choose:`请选择`,typeBounds:`请选择店铺分类。`,area:`商圈`,areaBounds:`最多 80 个字符。`,address:`地址`,addressBounds:`街道与门牌号，最多 255 个字符。`,lat:`纬度`,lng:`经度`,latBounds:`-85.05 到 85.05 度。`,lngBounds:`-180 到 180 度。`,here:`使用当前位置`,noPosition:`浏览器无法获取位置，请手动填写。`,price:`人均消费（元）`,priceBounds:`0 到 1,000,000 之间的金额。`,hours:`营业时间`,hoursHint:`例如：周一至周日 10:00–22:00。`,hoursBounds:`最多 120 个字符。`,create:`创建店铺`,save:`保存`,saved:`已保存。`,created:`店铺已创建，顾客现在可以搜到。`});function B(){let e=z();return(0,R.jsx)(g,{title:e.newTitle,up:`/merchant`,children:(0,R.jsx)(A,{role:`MERCHANT`,children:(0,R.jsx)(U,{shop:null})})})}function V({id:e}){let t=z(),[{data:r,error:i},s]=n({query:P,variables:{id:e},requestPolicy:`network-only`,catchUp:!1});return(0,R.jsx)(g,{title:t.editTitle,up:`/merchant/shops/${e}`,children:(0,R.jsx)(A,{role:`MERCHANT`,children:r?.shop?(0,R.jsx)(U,{shop:r.shop}):i?(0,R.jsx)(o,{error:i,again:()=>s({requestPolicy:`network-only`})}):r?(0,R.jsx)(c,{title:t.gone}):(0,R.jsx)(a,{shape:`text`,count:5})})})}var H=9,re=[`images`,`name`,`typeId`,`area`,`address`,`lat`,`lng`,`avgPrice`,`openHours`];function U({shop:e}){let t=z(),a=i(),[,o]=f(),[{data:s}]=n({query:D,variables:{},requestPolicy:`cache-first`}),[c,p]=r(F,{say:!1}),[m,g]=r(I,{say:!1}),[_,v]=(0,N.useState)([]),y=ee(_),[b,w]=(0,N.useState)(e?.images??[]),[k,A]=(0,N.useState)(!1),[j,M]=(0,N.useState)(e?.name??``),[P,B]=(0,N.useState)(e?.type.id??``),[V,H]=(0,N.useState)(e?.area??``),[U,K]=(0,N.useState)(e?.address??``),[q,J]=(0,N.useState)(e===null?``:String(e.location.lat)),[Y,X]=(0,N.useState)(e===null?``:String(e.location.lng)),[Z,ie]=(0,N.useState)(ne(e?.avgPrice??null)),[Q,ae]=(0,N.useState)(e?.openHours??``),oe=async()=>{let n={lat:E(q),lng:E(Y)},r=T(Z)===null?null:te(Z),i=[j.trim()===``&&x(`name`),P===``&&x(`typeId`),U.trim()===``&&x(`address`),!W(n.lat,85.05)&&x(`lat`),!W(n.lng,180)&&x(`lng`),T(Z)!==null&&r===null&&x(`avgPrice`)].filter(e=>e!==!1);if(v(i),i.length>0)return;let a={name:j.trim(),typeId:P,images:b.map(({url:e})=>e),area:T(V),address:U.trim(),location:{lat:n.lat??0,lng:n.lng??0},avgPrice:r,openHours:T(Q)},s=e===null?await c({input:a}):await m({input:{...a,id:e.id}});v(s.ok?[]:s.refusals);let l=s.ok?s.value.shop:null;l!==null&&(O(e===null?t.created:t.saved),o(`/merchant/shops/${l.id}`,{replace:!0}))},$=()=>O(t.noPosition);return(0,R.jsxs)(C,{label:e===null?t.newTitle:t.editTitle,refusals:_,fields:re,onSubmit:()=>void oe(),children:[(0,R.jsx)(l,{label:t.name,error:y(`name`,t.nameBounds),maxLength:120,value:j,onChange:e=>M(e.target.value)}),(0,R.jsx)(u,{label:t.type,error:y(`typeId`,t.typeBounds),children:e=>(0,R.jsxs)(`select`,{...e,value:P,onChange:e=>B(e.target.value),children:[(0,R.jsx)(`option`,{value:``,children:t.choose}),s?.shopTypes.map(e=>(0,R.jsx)(`option`,{value:e.id,children:a(e.name)},e.id))]})}),(0,R.jsx)(G,{images:b,setImages:w,error:y(`images`),onBusy:A}),(0,R.jsxs)(S,{children:[(0,R.jsx)(l,{label:t.address,error:y(`address`,t.addressBounds),maxLength:255,autoComplete:`off`,value:U,onChange:e=>K(e.target.value)}),(0,R.jsx)(l,{label:t.area,error:y(`area`,t.areaBounds),maxLength:80,value:V,onChange:e=>H(e.target.value)})]}),(0,R.jsxs)(`div`,{className:L.position,children:[(0,R.jsxs)(S,{children:[(0,R.jsx)(l,{label:t.lat,error:y(`lat`,t.latBounds),inputMode:`text`,autoComplete:`off`,value:q,onChange:e=>J(e.target.value)}),(0,R.jsx)(l,{label:t.lng,error:y(`lng`,t.lngBounds),inputMode:`text`,autoComplete:`off`,value:Y,onChange:e=>X(e.target.value)})]}),(0,R.jsxs)(h,{kind:`quiet`,small:!0,onClick:()=>{`geolocation`in navigator?navigator.geolocation.getCurrentPosition(({coords:e})=>{J(e.latitude.toFixed(6)),X(e.longitude.toFixed(6))},$):$()},children:[(0,R.jsx)(d,{"aria-hidden":`true`,size:18}),` `,t.here]})]}),(0,R.jsx)(l,{label:t.price,error:y(`avgPrice`,t.priceBounds),inputMode:`decimal`,autoComplete:`off`,value:Z,onChange:e=>ie(e.target.value)}),(0,R.jsx)(l,{label:t.hours,hint:t.hoursHint,error:y(`openHours`,t.hoursBounds),maxLength:120,value:Q,onChange:e=>ae(e.target.value)}),(0,R.jsx)(h,{type:`submit`,wide:!0,busy:p||g||k,children:e===null?t.create:t.save})]})}function W(e,t){return e!==null&&Math.abs(e)<=t}function G({images:e,setImages:n,error:r,onBusy:i}){let a=z(),[o,c]=w(),l=(0,N.useRef)(null),u=async t=>{l.current&&(l.current.value=``),i(!0);for(let r of t.slice(0,H-e.length)){let e=await o(r);e&&n(t=>t.some(({url:t})=>t===e.url)?t:[...t,e])}i(!1)};return(0,R.jsxs)(`fieldset`,{className:L.pictures,children:[(0,R.jsx)(`legend`,{children:a.pictures}),(0,R.jsx)(`p`,{className:L.hint,children:a.picturesHint}),(0,R.jsx)(`ul`,{children:e.map(({url:e,thumbnailUrl:t},r)=>(0,R.jsxs)(`li`,{children:[(0,R.jsx)(s,{src:t,alt:a.picture(r+1),ratio:1}),(0,R.jsxs)(`div`,{className:L.tools,children:[r>0&&(0,R.jsx)(p,{label:a.first(r+1),onClick:()=>n(t=>[...t.filter(t=>t.url===e),...t.filter(t=>t.url!==e)]),children:(0,R.jsx)(M,{"aria-hidden":`true`,size:18})}),(0,R.jsx)(p,{label:a.remove(r+1),onClick:()=>n(t=>t.filter(t=>t.url!==e)),children:(0,R.jsx)(v,{"aria-hidden":`true`,size:18})})]})]},e))}),(0,R.jsx)(`input`,{ref:l,type:`file`,hidden:!0,multiple:!0,accept:`image/jpeg,image/png,image/webp`,"aria-label":a.add,"data-input":`pictures`,onChange:e=>void u([...e.target.files??[]])}),e.length<H&&(0,R.jsxs)(h,{kind:`quiet`,small:!0,busy:c,onClick:()=>l.current?.click(),children:[!c&&(0,R.jsx)(t,{"aria-hidden":`true`,size:18}),` `,a.add]}),r&&(0,R.jsx)(`p`,{role:`alert`,className:L.error,children:r})]})}export{V as EditShop,B as NewShop};