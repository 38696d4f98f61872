import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{a as t,n}from"./preload-helper-Chrg9qMa.js";import{b as r,l as i,t as a}from"./Screen-DdURs_yY.js";import{_ as o,b as s,d as c,h as l,j as u,l as d,p as f,u as p,v as m}from"./app-C_ToAT57.js";import{t as h}from"./types.gql-BUsn1si6.js";import{t as g}from"./document-bm9CNBvx.js";var _=e(t(),1),v=g(`64acf20a4dea851b66b524c5b492cab421d2949e2b2203dfff26a577ed282020`,`query SearchShops($filter: ShopFilter, $near: NearInput, $orderBy: ShopOrder, $first: Int = 20, $after: Cursor) {
  shops(
    filter: $filter
    near: $near
    orderBy: $orderBy
    first: $first
    after: $after
  ) {
    edges {
      distance
      node {
        ...ShopCard
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
}
fragment ShopCard on Shop {
  id
  name
  area
  address
  avgPrice
  score
  commentCount
  images {
    thumbnailUrl
    width
    height
    __typename
  }
  type {
    id
    name
    __typename
  }
  __typename
}
fragment Page on PageInfo {
  hasNextPage
  endCursor
  __typename
}`),y={form:`_form_aalfx_1`,choices:`_choices_aalfx_7`,list:`_list_aalfx_13`},b=n(),x=i({title:`Search`,words:`Name, quarter or street`,type:`Kind`,anyType:`All kinds`,order:`Sort by`,DISTANCE:`Nearest`,SCORE:`Best rated`,SOLD:`Most sold`,NEWEST:`Newest`,results:`Shops`,none:`No shop is like that. Try fewer words or another kind.`},{title:`搜索`,words:`店名、商圈或街道`,type:`分类`,anyType:`全部分类`,order:`排序`,DISTANCE:`距离最近`,SCORE:`评分最高`,SOLD:`销量最高`,NEWEST:`最新加入`,results:`店铺`,none:`没有符合条件的店铺，试试其他关键词或分类。`}),S=[`DISTANCE`,`SCORE`,`SOLD`,`NEWEST`],C=5e4,w=250;function T(){let e=x(),t=c(),n=s(),[i,o]=r(),g=i.get(`q`)??``,_=i.get(`type`)??``,[{data:w}]=u({query:h,variables:{},requestPolicy:`cache-first`}),T=n===null?S.filter(e=>e!==`DISTANCE`):S,D=T.find(e=>e===i.get(`order`))??T[0],O=(e,t)=>o(n=>{let r=new URLSearchParams(n);return t===``?r.delete(e):r.set(e,t),r},{replace:!0}),k=g.trim(),A={filter:{...k===``?{}:{search:k},..._===``?{}:{typeId:_}},near:D===`DISTANCE`&&n!==null?{lat:n.lat,lng:n.lng,radius:C}:null,orderBy:D};return(0,b.jsxs)(a,{title:e.title,up:`/`,children:[(0,b.jsxs)(`search`,{className:y.form,children:[(0,b.jsx)(E,{label:e.words,value:g,onChange:e=>O(`q`,e)}),(0,b.jsxs)(`div`,{className:y.choices,children:[(0,b.jsx)(m,{label:e.type,children:n=>(0,b.jsxs)(`select`,{...n,value:_,onChange:e=>O(`type`,e.target.value),children:[(0,b.jsx)(`option`,{value:``,children:e.anyType}),w?.shopTypes.map(({id:e,name:n})=>(0,b.jsx)(`option`,{value:e,children:t(n)},e))]})}),(0,b.jsx)(m,{label:e.order,children:t=>(0,b.jsx)(`select`,{...t,value:D,onChange:e=>O(`order`,e.target.value),children:T.map(t=>(0,b.jsx)(`option`,{value:t,children:e[t]},t))})})]})]}),(0,b.jsx)(`h2`,{className:`unseen`,children:e.results}),(0,b.jsx)(d,{name:`shops`,document:v,variables:A,connection:({shops:e})=>e,className:y.list,loading:(0,b.jsx)(l,{shape:`row`,count:6}),empty:(0,b.jsx)(f,{title:e.none}),children:({node:e,distance:t},n)=>(0,b.jsx)(p,{shop:e,distance:t,eager:n<4})},JSON.stringify(A))]})}function E({label:e,value:t,onChange:n}){let[r,i]=(0,_.useState)(t);return(0,_.useEffect)(()=>{if(r===t)return;let e=setTimeout(()=>n(r),w);return()=>clearTimeout(e)},[r]),(0,b.jsx)(o,{label:e,type:`search`,enterKeyHint:`search`,maxLength:100,value:r,onChange:e=>i(e.target.value)})}export{T as Search};