import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{r as t}from"./shrink-CR0QYNcn.js";import{M as n,O as r,d as i,g as a,h as o,k as s,m as c,v as l,y as u,z as d}from"./app-9bWWcI_7.js";import{c as f,l as p,o as m,p as h,t as g,y as ee}from"./Screen-DdURs_yY.js";import{t as _}from"./trash-YgmIUgcm.js";import{a as v,n as y}from"./preload-helper-Chrg9qMa.js";import{i as b,n as x,r as S,t as C}from"./Form-DG1yq2E4.js";import{t as w}from"./upload-BlNBmwTV.js";import{a as T,i as E,n as D,o as O}from"./written-DLl5HEzf.js";import{t as te}from"./types.gql-BUsn1si6.js";import{n as k}from"./toast-ZrJXNZZ4.js";import{t as A}from"./document-bm9CNBvx.js";import{t as j}from"./ForRole-D6lA_ssL.js";var M={name:`move-left`,size:24,node:[[`path`,{d:`M6 8L2 12L6 16`,key:`kyvwex`}],[`path`,{d:`M2 12H22`,key:`1m8cig`}]]};M.node;var N=h(M),P=e(v(),1),F=A(`d69057cb8b4e33768db96a8ca4d729a4d651b403c2d47b33e957d7550b97fea1`,`query ShopForm($id: ID!) {
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
}`),ne=A(`8e79e8ac84ab7ee2f20dcd387960da266ce242c57e83d8993d730d3fdf3f2e47`,`mutation CreateShop($input: CreateShopInput!) {
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
}`),I=A(`2130d13dfade51d7bc0f85084f47e43fc3228c694f95c2569764f4e2fe90745c`,`mutation UpdateShop($input: UpdateShopInput!) {
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
}`),L={pictures:`_pictures_13rln_1`,hint:`_hint_13rln_13`,error:`_error_13rln_18`,tools:`_tools_13rln_42`,position:`_position_13rln_47`},R=y(),z=p({newTitle:`New shop`,editTitle:`Edit shop`,gone:`There is no such shop.`,pictures:`Pictures`,picturesHint:`Up to 9. The first one stands in lists.`,add:`Add pictures`,uploading:`Uploading a picture`,remove:e=>`Remove picture ${e}`,first:e=>`Move picture ${e} to the front`,picture:e=>`Picture ${e}`,name:`Name`,nameBounds:`1 to 120 characters.`,type:`Kind`,choose:`Please choose`,typeBounds:`A shop needs a kind.`,area:`Quarter`,areaBounds:`At most 80 characters.`,address:`Address`,addressBounds:`Street and number, at most 255 characters.`,lat:`Latitude`,lng:`Longitude`,latBounds:`-85.05 to 85.05 degrees.`,lngBounds:`-180 to 180 degrees.`,here:`Use my position`,noPosition:`The browser does not say where you are. Please enter it.`,price:`Average spend a person, in yuan`,priceBounds:`An amount from 0 to 1,000,000.`,hours:`Opening hours`,hoursHint:`As people write it, such as Mon–Sun 10:00–22:00.`,hoursBounds:`At most 120 characters.`,create:`Open the shop`,save:`Save`,saved:`Saved.`,created:`Your shop can be found now.`},{newTitle:`新建店铺`,editTitle:`编辑店铺`,gone:`店铺不存在。`,pictures:`图片`,picturesHint:`最多 9 张，第一张为封面。`,add:`添加图片`,uploading:`正在上传图片`,remove:e=>`移除第 ${e} 张图片`,first:e=>`将第 ${e} 张图片设为封面`,picture:e=>`第 ${e} 张图片`,name:`店名`,nameBounds:`1 到 120 个字符。`,type:`分类`,choose:`请选择`,typeBounds:`请选择店铺分类。`,area:`商圈`,areaBounds:`最多 80 个字符。`,address:`地址`,addressBounds:`街道与门牌号，最多 255 个字符。`,lat:`纬度`,lng:`经度`,latBounds:`-85.05 到 85.05 度。`,lngBounds:`-180 到 180 度。`,here:`使用当前位置`,noPosition:`浏览器无法获取位置，请手动填写。`,price:`人均消费（元）`,priceBounds:`0 到 1,000,000 之间的金额。`,hours:`营业时间`,hoursHint:`例如：周一至周日 10:00–22:00。`,hoursBounds:`最多 120 个字符。`,create:`创建店铺`,save:`保存`,saved:`已保存。`,created:`店铺已创建，顾客现在可以搜到。`});function B(){let e=z();return(0,R.jsx)(g,{title:e.newTitle,up:`/merchant`,children:(0,R.jsx)(j,{role:`MERCHANT`,children:(0,R.jsx)(U,{shop:null})})})}function V({id:e}){let t=z(),[{data:r,error:i},s]=n({query:F,variables:{id:e},requestPolicy:`network-only`,catchUp:!1});return(0,R.jsx)(g,{title:t.editTitle,up:`/merchant/shops/${e}`,children:(0,R.jsx)(j,{role:`MERCHANT`,children:r?.shop?(0,R.jsx)(U,{shop:r.shop}):i?(0,R.jsx)(o,{error:i,again:()=>s({requestPolicy:`network-only`})}):r?(0,R.jsx)(c,{title:t.gone}):(0,R.jsx)(a,{shape:`text`,count:5})})})}var H=9,re=[`images`,`name`,`typeId`,`area`,`address`,`lat`,`lng`,`avgPrice`,`openHours`];function U({shop:e}){let t=z(),a=i(),[,o]=ee(),[{data:s}]=n({query:te,variables:{},requestPolicy:`cache-first`}),[c,f]=r(ne,{say:!1}),[p,h]=r(I,{say:!1}),[g,_]=(0,P.useState)([]),v=S(g),[y,w]=(0,P.useState)(e?.images??[]),[A,j]=(0,P.useState)(!1),[M,N]=(0,P.useState)(e?.name??``),[F,B]=(0,P.useState)(e?.type.id??``),[V,H]=(0,P.useState)(e?.area??``),[U,K]=(0,P.useState)(e?.address??``),[q,J]=(0,P.useState)(e===null?``:String(e.location.lat)),[Y,X]=(0,P.useState)(e===null?``:String(e.location.lng)),[Z,ie]=(0,P.useState)(O(e?.avgPrice??null)),[Q,ae]=(0,P.useState)(e?.openHours??``),oe=async()=>{let n={lat:E(q),lng:E(Y)},r=T(Z)===null?null:D(Z),i=[M.trim()===``&&b(`name`),F===``&&b(`typeId`),U.trim()===``&&b(`address`),!W(n.lat,85.05)&&b(`lat`),!W(n.lng,180)&&b(`lng`),T(Z)!==null&&r===null&&b(`avgPrice`)].filter(e=>e!==!1);if(_(i),i.length>0)return;let a={name:M.trim(),typeId:F,images:y.map(({url:e})=>e),area:T(V),address:U.trim(),location:{lat:n.lat??0,lng:n.lng??0},avgPrice:r,openHours:T(Q)},s=e===null?await c({input:a}):await p({input:{...a,id:e.id}});_(s.ok?[]:s.refusals);let l=s.ok?s.value.shop:null;l!==null&&(k(e===null?t.created:t.saved),o(`/merchant/shops/${l.id}`,{replace:!0}))},$=()=>k(t.noPosition);return(0,R.jsxs)(C,{label:e===null?t.newTitle:t.editTitle,refusals:g,fields:re,onSubmit:()=>void oe(),children:[(0,R.jsx)(l,{label:t.name,error:v(`name`,t.nameBounds),maxLength:120,value:M,onChange:e=>N(e.target.value)}),(0,R.jsx)(u,{label:t.type,error:v(`typeId`,t.typeBounds),children:e=>(0,R.jsxs)(`select`,{...e,value:F,onChange:e=>B(e.target.value),children:[(0,R.jsx)(`option`,{value:``,children:t.choose}),s?.shopTypes.map(e=>(0,R.jsx)(`option`,{value:e.id,children:a(e.name)},e.id))]})}),(0,R.jsx)(G,{images:y,setImages:w,error:v(`images`),onBusy:j}),(0,R.jsxs)(x,{children:[(0,R.jsx)(l,{label:t.address,error:v(`address`,t.addressBounds),maxLength:255,autoComplete:`off`,value:U,onChange:e=>K(e.target.value)}),(0,R.jsx)(l,{label:t.area,error:v(`area`,t.areaBounds),maxLength:80,value:V,onChange:e=>H(e.target.value)})]}),(0,R.jsxs)(`div`,{className:L.position,children:[(0,R.jsxs)(x,{children:[(0,R.jsx)(l,{label:t.lat,error:v(`lat`,t.latBounds),inputMode:`text`,autoComplete:`off`,value:q,onChange:e=>J(e.target.value)}),(0,R.jsx)(l,{label:t.lng,error:v(`lng`,t.lngBounds),inputMode:`text`,autoComplete:`off`,value:Y,onChange:e=>X(e.target.value)})]}),(0,R.jsxs)(m,{kind:`quiet`,small:!0,onClick:()=>{`geolocation`in navigator?navigator.geolocation.getCurrentPosition(({coords:e})=>{J(e.latitude.toFixed(6)),X(e.longitude.toFixed(6))},$):$()},children:[(0,R.jsx)(d,{"aria-hidden":`true`,size:18}),` `,t.here]})]}),(0,R.jsx)(l,{label:t.price,error:v(`avgPrice`,t.priceBounds),inputMode:`decimal`,autoComplete:`off`,value:Z,onChange:e=>ie(e.target.value)}),(0,R.jsx)(l,{label:t.hours,hint:t.hoursHint,error:v(`openHours`,t.hoursBounds),maxLength:120,value:Q,onChange:e=>ae(e.target.value)}),(0,R.jsx)(m,{type:`submit`,wide:!0,busy:f||h||A,children:e===null?t.create:t.save})]})}function W(e,t){return e!==null&&Math.abs(e)<=t}function G({images:e,setImages:n,error:r,onBusy:i}){let a=z(),[o,c]=w(),[l,u]=(0,P.useState)(!1),d=(0,P.useRef)(null),p=async t=>{d.current&&(d.current.value=``),u(!0),i(!0);for(let r of t.slice(0,H-e.length)){let e=await o(r);e&&n(t=>t.some(({url:t})=>t===e.url)?t:[...t,e])}u(!1),i(!1)};return(0,R.jsxs)(`fieldset`,{className:L.pictures,children:[(0,R.jsx)(`legend`,{children:a.pictures}),(0,R.jsx)(`p`,{className:L.hint,children:a.picturesHint}),(0,R.jsx)(`ul`,{children:e.map(({url:e,thumbnailUrl:t},r)=>(0,R.jsxs)(`li`,{children:[(0,R.jsx)(s,{src:t,alt:a.picture(r+1),ratio:1}),(0,R.jsxs)(`div`,{className:L.tools,children:[r>0&&(0,R.jsx)(f,{label:a.first(r+1),onClick:()=>n(t=>[...t.filter(t=>t.url===e),...t.filter(t=>t.url!==e)]),children:(0,R.jsx)(N,{"aria-hidden":`true`,size:18})}),(0,R.jsx)(f,{label:a.remove(r+1),onClick:()=>n(t=>t.filter(t=>t.url!==e)),children:(0,R.jsx)(_,{"aria-hidden":`true`,size:18})})]})]},e))}),(0,R.jsx)(`input`,{ref:d,type:`file`,hidden:!0,multiple:!0,accept:`image/jpeg,image/png,image/webp`,"aria-label":a.add,"data-input":`pictures`,onChange:e=>void p([...e.target.files??[]])}),e.length<H&&(0,R.jsxs)(m,{kind:`quiet`,small:!0,busy:l,onClick:()=>d.current?.click(),children:[!l&&(0,R.jsx)(t,{"aria-hidden":`true`,size:18}),` `,a.add]}),c!==null&&(0,R.jsx)(`progress`,{"aria-label":a.uploading,max:1,value:c}),r&&(0,R.jsx)(`p`,{role:`alert`,className:L.error,children:r})]})}export{V as EditShop,B as NewShop};