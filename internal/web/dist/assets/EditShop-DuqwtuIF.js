import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{n as t,t as n}from"./upload-BbpDA94L.js";import{C as r,_ as i,c as a,d as o,f as s,g as c,h as l,l as u,o as d}from"./app-DRkv9LCR.js";import{a as f,g as p,i as m,l as h,n as g,t as _}from"./Screen-C350eDAS.js";import{a as v,n as y}from"./preload-helper-Chrg9qMa.js";import{n as b,t as x}from"./Skeleton-WFtokztb.js";import{i as S,n as C,r as w,t as T}from"./Form-C4dkQk60.js";import{a as E,i as D,n as O,o as ee}from"./written-DHUFrCzV.js";import{t as te}from"./types.gql-DyqEQN2Q.js";import{t as k}from"./document-BthJQ_51.js";import{t as A}from"./ForRole-BvZP6ybJ.js";var j={name:`move-left`,size:24,node:[[`path`,{d:`M6 8L2 12L6 16`,key:`kyvwex`}],[`path`,{d:`M2 12H22`,key:`1m8cig`}]]};j.node;var M=h(j),N={name:`trash`,size:24,node:[[`path`,{d:`M10 11v6`,key:`nco0om`}],[`path`,{d:`M14 11v6`,key:`outv1u`}],[`path`,{d:`M19 6v14a2 2 0 0 1-2 2H7a2 2 0 0 1-2-2V6`,key:`miytrc`}],[`path`,{d:`M3 6h18`,key:`d0wm0j`}],[`path`,{d:`M8 6V4a2 2 0 0 1 2-2h4a2 2 0 0 1 2 2v2`,key:`e791ji`}]],aliases:[`trash-2`]};N.node;var P=h(N),F=e(v(),1),I=k(`d69057cb8b4e33768db96a8ca4d729a4d651b403c2d47b33e957d7550b97fea1`,`query ShopForm($id: ID!) {
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
}`),L=k(`8e79e8ac84ab7ee2f20dcd387960da266ce242c57e83d8993d730d3fdf3f2e47`,`mutation CreateShop($input: CreateShopInput!) {
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
}`),R=k(`2130d13dfade51d7bc0f85084f47e43fc3228c694f95c2569764f4e2fe90745c`,`mutation UpdateShop($input: UpdateShopInput!) {
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
}`),z={pictures:`_pictures_1mnh4_1`,hint:`_hint_1mnh4_13`,error:`_error_1mnh4_18`,tools:`_tools_1mnh4_37`,position:`_position_1mnh4_42`},B=y(),V=f({newTitle:`New shop`,editTitle:`Edit shop`,gone:`There is no such shop.`,pictures:`Pictures`,picturesHint:`Up to 9. The first one stands in lists.`,add:`Add pictures`,remove:e=>`Remove picture ${e}`,first:e=>`Move picture ${e} to the front`,picture:e=>`Picture ${e}`,name:`Name`,nameBounds:`1 to 120 characters.`,type:`Kind`,choose:`Please choose`,typeBounds:`A shop needs a kind.`,area:`Quarter`,areaBounds:`At most 80 characters.`,address:`Address`,addressBounds:`Street and number, at most 255 characters.`,lat:`Latitude`,lng:`Longitude`,latBounds:`-85.05 to 85.05 degrees.`,lngBounds:`-180 to 180 degrees.`,here:`Use my position`,noPosition:`The browser does not say where you are. Please enter it.`,price:`Average spend a person, in yuan`,priceBounds:`An amount from 0 to 1,000,000.`,hours:`Opening hours`,hoursHint:`As people write it, such as Mon–Sun 10:00–22:00.`,hoursBounds:`At most 120 characters.`,create:`Open the shop`,save:`Save`,saved:`Saved.`,created:`Your shop can be found now.`},{newTitle:`新建店铺`,editTitle:`编辑店铺`,gone:`店铺不存在。`,pictures:`图片`,picturesHint:`最多 9 张，第一张为封面。`,add:`添加图片`,remove:e=>`移除第 ${e} 张图片`,first:e=>`将第 ${e} 张图片设为封面`,picture:e=>`第 ${e} 张图片`,name:`店名`,nameBounds:`1 到 120 个字符。`,type:`分类`,choose:`请选择`,typeBounds:`请选择店铺分类。`,area:`商圈`,areaBounds:`最多 80 个字符。`,address:`地址`,addressBounds:`街道与门牌号，最多 255 个字符。`,lat:`纬度`,lng:`经度`,latBounds:`-85.05 到 85.05 度。`,lngBounds:`-180 到 180 度。`,here:`使用当前位置`,noPosition:`浏览器无法获取位置，请手动填写。`,price:`人均消费（元）`,priceBounds:`0 到 1,000,000 之间的金额。`,hours:`营业时间`,hoursHint:`例如：周一至周日 10:00–22:00。`,hoursBounds:`最多 120 个字符。`,create:`创建店铺`,save:`保存`,saved:`已保存。`,created:`店铺已创建，顾客现在可以搜到。`});function H(){let e=V();return(0,B.jsx)(_,{title:e.newTitle,up:`/merchant`,children:(0,B.jsx)(A,{role:`MERCHANT`,children:(0,B.jsx)(G,{shop:null})})})}function U({id:e}){let t=V(),[{data:n,error:r},i]=b({query:I,variables:{id:e},requestPolicy:`network-only`,catchUp:!1});return(0,B.jsx)(_,{title:t.editTitle,up:`/merchant/shops/${e}`,children:(0,B.jsx)(A,{role:`MERCHANT`,children:n?.shop?(0,B.jsx)(G,{shop:n.shop}):r?(0,B.jsx)(u,{error:r,again:()=>i({requestPolicy:`network-only`})}):n?(0,B.jsx)(a,{title:t.gone}):(0,B.jsx)(x,{shape:`text`,count:5})})})}var W=9,ne=[`images`,`name`,`typeId`,`area`,`address`,`lat`,`lng`,`avgPrice`,`openHours`];function G({shop:e}){let t=V(),n=d(),[,i]=p(),[{data:a}]=b({query:te,variables:{},requestPolicy:`cache-first`}),[u,f]=l(L,{say:!1}),[m,h]=l(R,{say:!1}),[_,v]=(0,F.useState)([]),y=w(_),[x,k]=(0,F.useState)(e?.images??[]),[A,j]=(0,F.useState)(!1),[M,N]=(0,F.useState)(e?.name??``),[P,I]=(0,F.useState)(e?.type.id??``),[H,U]=(0,F.useState)(e?.area??``),[W,G]=(0,F.useState)(e?.address??``),[q,J]=(0,F.useState)(e===null?``:String(e.location.lat)),[Y,X]=(0,F.useState)(e===null?``:String(e.location.lng)),[Z,ie]=(0,F.useState)(ee(e?.avgPrice??null)),[Q,ae]=(0,F.useState)(e?.openHours??``),oe=async()=>{let n={lat:D(q),lng:D(Y)},r=E(Z)===null?null:O(Z),a=[M.trim()===``&&S(`name`),P===``&&S(`typeId`),W.trim()===``&&S(`address`),!K(n.lat,85.05)&&S(`lat`),!K(n.lng,180)&&S(`lng`),E(Z)!==null&&r===null&&S(`avgPrice`)].filter(e=>e!==!1);if(v(a),a.length>0)return;let o={name:M.trim(),typeId:P,images:x.map(({url:e})=>e),area:E(H),address:W.trim(),location:{lat:n.lat??0,lng:n.lng??0},avgPrice:r,openHours:E(Q)},s=e===null?await u({input:o}):await m({input:{...o,id:e.id}});v(s.ok?[]:s.refusals);let l=s.ok?s.value.shop:null;l!==null&&(c(e===null?t.created:t.saved),i(`/merchant/shops/${l.id}`,{replace:!0}))},$=()=>c(t.noPosition);return(0,B.jsxs)(T,{label:e===null?t.newTitle:t.editTitle,refusals:_,fields:ne,onSubmit:()=>void oe(),children:[(0,B.jsx)(o,{label:t.name,error:y(`name`,t.nameBounds),maxLength:120,value:M,onChange:e=>N(e.target.value)}),(0,B.jsx)(s,{label:t.type,error:y(`typeId`,t.typeBounds),children:e=>(0,B.jsxs)(`select`,{...e,value:P,onChange:e=>I(e.target.value),children:[(0,B.jsx)(`option`,{value:``,children:t.choose}),a?.shopTypes.map(e=>(0,B.jsx)(`option`,{value:e.id,children:n(e.name)},e.id))]})}),(0,B.jsx)(re,{images:x,setImages:k,error:y(`images`),onBusy:j}),(0,B.jsxs)(C,{children:[(0,B.jsx)(o,{label:t.address,error:y(`address`,t.addressBounds),maxLength:255,autoComplete:`off`,value:W,onChange:e=>G(e.target.value)}),(0,B.jsx)(o,{label:t.area,error:y(`area`,t.areaBounds),maxLength:80,value:H,onChange:e=>U(e.target.value)})]}),(0,B.jsxs)(`div`,{className:z.position,children:[(0,B.jsxs)(C,{children:[(0,B.jsx)(o,{label:t.lat,error:y(`lat`,t.latBounds),inputMode:`text`,autoComplete:`off`,value:q,onChange:e=>J(e.target.value)}),(0,B.jsx)(o,{label:t.lng,error:y(`lng`,t.lngBounds),inputMode:`text`,autoComplete:`off`,value:Y,onChange:e=>X(e.target.value)})]}),(0,B.jsxs)(g,{kind:`quiet`,small:!0,onClick:()=>{`geolocation`in navigator?navigator.geolocation.getCurrentPosition(({coords:e})=>{J(e.latitude.toFixed(6)),X(e.longitude.toFixed(6))},$):$()},children:[(0,B.jsx)(r,{"aria-hidden":`true`,size:18}),` `,t.here]})]}),(0,B.jsx)(o,{label:t.price,error:y(`avgPrice`,t.priceBounds),inputMode:`decimal`,autoComplete:`off`,value:Z,onChange:e=>ie(e.target.value)}),(0,B.jsx)(o,{label:t.hours,hint:t.hoursHint,error:y(`openHours`,t.hoursBounds),maxLength:120,value:Q,onChange:e=>ae(e.target.value)}),(0,B.jsx)(g,{type:`submit`,wide:!0,busy:f||h||A,children:e===null?t.create:t.save})]})}function K(e,t){return e!==null&&Math.abs(e)<=t}function re({images:e,setImages:r,error:a,onBusy:o}){let s=V(),[c,l]=n(),u=(0,F.useRef)(null),d=async t=>{u.current&&(u.current.value=``),o(!0);for(let n of t.slice(0,W-e.length)){let e=await c(n);e&&r(t=>t.some(({url:t})=>t===e.url)?t:[...t,e])}o(!1)};return(0,B.jsxs)(`fieldset`,{className:z.pictures,children:[(0,B.jsx)(`legend`,{children:s.pictures}),(0,B.jsx)(`p`,{className:z.hint,children:s.picturesHint}),(0,B.jsx)(`ul`,{children:e.map(({url:e,thumbnailUrl:t},n)=>(0,B.jsxs)(`li`,{children:[(0,B.jsx)(i,{src:t,alt:s.picture(n+1),ratio:1}),(0,B.jsxs)(`div`,{className:z.tools,children:[n>0&&(0,B.jsx)(m,{label:s.first(n+1),onClick:()=>r(t=>[...t.filter(t=>t.url===e),...t.filter(t=>t.url!==e)]),children:(0,B.jsx)(M,{"aria-hidden":`true`,size:18})}),(0,B.jsx)(m,{label:s.remove(n+1),onClick:()=>r(t=>t.filter(t=>t.url!==e)),children:(0,B.jsx)(P,{"aria-hidden":`true`,size:18})})]})]},e))}),(0,B.jsx)(`input`,{ref:u,type:`file`,hidden:!0,multiple:!0,accept:`image/jpeg,image/png,image/webp`,"aria-label":s.add,"data-input":`pictures`,onChange:e=>void d([...e.target.files??[]])}),e.length<W&&(0,B.jsxs)(g,{kind:`quiet`,small:!0,busy:l,onClick:()=>u.current?.click(),children:[!l&&(0,B.jsx)(t,{"aria-hidden":`true`,size:18}),` `,s.add]}),a&&(0,B.jsx)(`p`,{role:`alert`,className:z.error,children:a})]})}export{U as EditShop,H as NewShop};