import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{t}from"./image-plus-a8CBsiN6.js";import{D as n,O as r,R as i,_ as a,d as o,h as s,j as c,m as l,p as u,v as d}from"./app-C_ToAT57.js";import{c as f,l as p,o as m,p as h,t as g,y as _}from"./Screen-DdURs_yY.js";import{t as v}from"./trash-YgmIUgcm.js";import{a as y,n as b}from"./preload-helper-Chrg9qMa.js";import{i as x,n as S,r as ee,t as C}from"./Form-C-O9OnmU.js";import{t as w}from"./upload-BNnrb3UR.js";import{a as T,i as E,n as te,o as ne}from"./written-DHUFrCzV.js";import{t as D}from"./types.gql-BUsn1si6.js";import{n as O}from"./toast-ZrJXNZZ4.js";import{t as k}from"./document-bm9CNBvx.js";import{t as A}from"./ForRole-57slH6dd.js";var j={name:`move-left`,size:24,node:[[`path`,{d:`M6 8L2 12L6 16`,key:`kyvwex`}],[`path`,{d:`M2 12H22`,key:`1m8cig`}]]};j.node;var M=h(j),N=e(y(),1),P=k(`d69057cb8b4e33768db96a8ca4d729a4d651b403c2d47b33e957d7550b97fea1`,`query ShopForm($id: ID!) {
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
}`),L={pictures:`_pictures_1mnh4_1`,hint:`_hint_1mnh4_13`,error:`_error_1mnh4_18`,tools:`_tools_1mnh4_37`,position:`_position_1mnh4_42`},R=b(),z=p({newTitle:`New shop`,editTitle:`Edit shop`,gone:`There is no such shop.`,pictures:`Pictures`,picturesHint:`Up to 9. The first one stands in lists.`,add:`Add pictures`,remove:e=>`Remove picture ${e}`,first:e=>`Move picture ${e} to the front`,picture:e=>`Picture ${e}`,name:`Name`,nameBounds:`1 to 120 characters.`,type:`Kind`,choose:`Please choose`,typeBounds:`A shop needs a kind.`,area:`Quarter`,areaBounds:`At most 80 characters.`,address:`Address`,addressBounds:`Street and number, at most 255 characters.`,lat:`Latitude`,lng:`Longitude`,latBounds:`-85.05 to 85.05 degrees.`,lngBounds:`-180 to 180 degrees.`,here:`Use my position`,noPosition:`The browser does not say where you are. Please enter it.`,price:`Average spend a person, in yuan`,priceBounds:`An amount from 0 to 1,000,000.`,hours:`Opening hours`,hoursHint:`As people write it, such as Mon–Sun 10:00–22:00.`,hoursBounds:`At most 120 characters.`,create:`Open the shop`,save:`Save`,saved:`Saved.`,created:`Your shop can be found now.`},{newTitle:`新建店铺`,editTitle:`编辑店铺`,gone:`店铺不存在。`,pictures:`图片`,picturesHint:`最多 9 张，第一张为封面。`,add:`添加图片`,remove:e=>`移除第 ${e} 张图片`,first:e=>`将第 ${e} 张图片设为封面`,picture:e=>`第 ${e} 张图片`,name:`店名`,nameBounds:`1 到 120 个字符。`,type:`分类`,choose:`请选择`,typeBounds:`请选择店铺分类。`,area:`商圈`,areaBounds:`最多 80 个字符。`,address:`地址`,addressBounds:`街道与门牌号，最多 255 个字符。`,lat:`纬度`,lng:`经度`,latBounds:`-85.05 到 85.05 度。`,lngBounds:`-180 到 180 度。`,here:`使用当前位置`,noPosition:`浏览器无法获取位置，请手动填写。`,price:`人均消费（元）`,priceBounds:`0 到 1,000,000 之间的金额。`,hours:`营业时间`,hoursHint:`例如：周一至周日 10:00–22:00。`,hoursBounds:`最多 120 个字符。`,create:`创建店铺`,save:`保存`,saved:`已保存。`,created:`店铺已创建，顾客现在可以搜到。`});function B(){let e=z();return(0,R.jsx)(g,{title:e.newTitle,up:`/merchant`,children:(0,R.jsx)(A,{role:`MERCHANT`,children:(0,R.jsx)(U,{shop:null})})})}function V({id:e}){let t=z(),[{data:n,error:r},i]=c({query:P,variables:{id:e},requestPolicy:`network-only`,catchUp:!1});return(0,R.jsx)(g,{title:t.editTitle,up:`/merchant/shops/${e}`,children:(0,R.jsx)(A,{role:`MERCHANT`,children:n?.shop?(0,R.jsx)(U,{shop:n.shop}):r?(0,R.jsx)(l,{error:r,again:()=>i({requestPolicy:`network-only`})}):n?(0,R.jsx)(u,{title:t.gone}):(0,R.jsx)(s,{shape:`text`,count:5})})})}var H=9,re=[`images`,`name`,`typeId`,`area`,`address`,`lat`,`lng`,`avgPrice`,`openHours`];function U({shop:e}){let t=z(),r=o(),[,s]=_(),[{data:l}]=c({query:D,variables:{},requestPolicy:`cache-first`}),[u,f]=n(F,{say:!1}),[p,h]=n(I,{say:!1}),[g,v]=(0,N.useState)([]),y=ee(g),[b,w]=(0,N.useState)(e?.images??[]),[k,A]=(0,N.useState)(!1),[j,M]=(0,N.useState)(e?.name??``),[P,B]=(0,N.useState)(e?.type.id??``),[V,H]=(0,N.useState)(e?.area??``),[U,K]=(0,N.useState)(e?.address??``),[q,J]=(0,N.useState)(e===null?``:String(e.location.lat)),[Y,X]=(0,N.useState)(e===null?``:String(e.location.lng)),[Z,ie]=(0,N.useState)(ne(e?.avgPrice??null)),[Q,ae]=(0,N.useState)(e?.openHours??``),oe=async()=>{let n={lat:E(q),lng:E(Y)},r=T(Z)===null?null:te(Z),i=[j.trim()===``&&x(`name`),P===``&&x(`typeId`),U.trim()===``&&x(`address`),!W(n.lat,85.05)&&x(`lat`),!W(n.lng,180)&&x(`lng`),T(Z)!==null&&r===null&&x(`avgPrice`)].filter(e=>e!==!1);if(v(i),i.length>0)return;let a={name:j.trim(),typeId:P,images:b.map(({url:e})=>e),area:T(V),address:U.trim(),location:{lat:n.lat??0,lng:n.lng??0},avgPrice:r,openHours:T(Q)},o=e===null?await u({input:a}):await p({input:{...a,id:e.id}});v(o.ok?[]:o.refusals);let c=o.ok?o.value.shop:null;c!==null&&(O(e===null?t.created:t.saved),s(`/merchant/shops/${c.id}`,{replace:!0}))},$=()=>O(t.noPosition);return(0,R.jsxs)(C,{label:e===null?t.newTitle:t.editTitle,refusals:g,fields:re,onSubmit:()=>void oe(),children:[(0,R.jsx)(a,{label:t.name,error:y(`name`,t.nameBounds),maxLength:120,value:j,onChange:e=>M(e.target.value)}),(0,R.jsx)(d,{label:t.type,error:y(`typeId`,t.typeBounds),children:e=>(0,R.jsxs)(`select`,{...e,value:P,onChange:e=>B(e.target.value),children:[(0,R.jsx)(`option`,{value:``,children:t.choose}),l?.shopTypes.map(e=>(0,R.jsx)(`option`,{value:e.id,children:r(e.name)},e.id))]})}),(0,R.jsx)(G,{images:b,setImages:w,error:y(`images`),onBusy:A}),(0,R.jsxs)(S,{children:[(0,R.jsx)(a,{label:t.address,error:y(`address`,t.addressBounds),maxLength:255,autoComplete:`off`,value:U,onChange:e=>K(e.target.value)}),(0,R.jsx)(a,{label:t.area,error:y(`area`,t.areaBounds),maxLength:80,value:V,onChange:e=>H(e.target.value)})]}),(0,R.jsxs)(`div`,{className:L.position,children:[(0,R.jsxs)(S,{children:[(0,R.jsx)(a,{label:t.lat,error:y(`lat`,t.latBounds),inputMode:`text`,autoComplete:`off`,value:q,onChange:e=>J(e.target.value)}),(0,R.jsx)(a,{label:t.lng,error:y(`lng`,t.lngBounds),inputMode:`text`,autoComplete:`off`,value:Y,onChange:e=>X(e.target.value)})]}),(0,R.jsxs)(m,{kind:`quiet`,small:!0,onClick:()=>{`geolocation`in navigator?navigator.geolocation.getCurrentPosition(({coords:e})=>{J(e.latitude.toFixed(6)),X(e.longitude.toFixed(6))},$):$()},children:[(0,R.jsx)(i,{"aria-hidden":`true`,size:18}),` `,t.here]})]}),(0,R.jsx)(a,{label:t.price,error:y(`avgPrice`,t.priceBounds),inputMode:`decimal`,autoComplete:`off`,value:Z,onChange:e=>ie(e.target.value)}),(0,R.jsx)(a,{label:t.hours,hint:t.hoursHint,error:y(`openHours`,t.hoursBounds),maxLength:120,value:Q,onChange:e=>ae(e.target.value)}),(0,R.jsx)(m,{type:`submit`,wide:!0,busy:f||h||k,children:e===null?t.create:t.save})]})}function W(e,t){return e!==null&&Math.abs(e)<=t}function G({images:e,setImages:n,error:i,onBusy:a}){let o=z(),[s,c]=w(),l=(0,N.useRef)(null),u=async t=>{l.current&&(l.current.value=``),a(!0);for(let r of t.slice(0,H-e.length)){let e=await s(r);e&&n(t=>t.some(({url:t})=>t===e.url)?t:[...t,e])}a(!1)};return(0,R.jsxs)(`fieldset`,{className:L.pictures,children:[(0,R.jsx)(`legend`,{children:o.pictures}),(0,R.jsx)(`p`,{className:L.hint,children:o.picturesHint}),(0,R.jsx)(`ul`,{children:e.map(({url:e,thumbnailUrl:t},i)=>(0,R.jsxs)(`li`,{children:[(0,R.jsx)(r,{src:t,alt:o.picture(i+1),ratio:1}),(0,R.jsxs)(`div`,{className:L.tools,children:[i>0&&(0,R.jsx)(f,{label:o.first(i+1),onClick:()=>n(t=>[...t.filter(t=>t.url===e),...t.filter(t=>t.url!==e)]),children:(0,R.jsx)(M,{"aria-hidden":`true`,size:18})}),(0,R.jsx)(f,{label:o.remove(i+1),onClick:()=>n(t=>t.filter(t=>t.url!==e)),children:(0,R.jsx)(v,{"aria-hidden":`true`,size:18})})]})]},e))}),(0,R.jsx)(`input`,{ref:l,type:`file`,hidden:!0,multiple:!0,accept:`image/jpeg,image/png,image/webp`,"aria-label":o.add,"data-input":`pictures`,onChange:e=>void u([...e.target.files??[]])}),e.length<H&&(0,R.jsxs)(m,{kind:`quiet`,small:!0,busy:c,onClick:()=>l.current?.click(),children:[!c&&(0,R.jsx)(t,{"aria-hidden":`true`,size:18}),` `,o.add]}),i&&(0,R.jsx)(`p`,{role:`alert`,className:L.error,children:i})]})}export{V as EditShop,B as NewShop};