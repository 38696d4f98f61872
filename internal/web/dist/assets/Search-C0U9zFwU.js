import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{a as t,n}from"./preload-helper-Chrg9qMa.js";import{C as r,t as i,u as a}from"./Screen-DN1Y-HZ_.js";import{t as o}from"./useAsk-ChgyYjXc.js";import{S as s,_ as c,b as l,d as u,f as d,h as f,m as p,u as m,y as h}from"./app-C5XjqgC4.js";import{t as g}from"./types.gql-BUsn1si6.js";import{t as _}from"./document-bm9CNBvx.js";var v=e(t(),1),y=_(`64acf20a4dea851b66b524c5b492cab421d2949e2b2203dfff26a577ed282020`,`query SearchShops($filter: ShopFilter, $near: NearInput, $orderBy: ShopOrder, $first: Int = 20, $after: Cursor) {
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
}`),b={form:`_form_aalfx_1`,choices:`_choices_aalfx_7`,list:`_list_aalfx_13`},x=n(),S=a({title:`Search`,words:`Name, quarter or street`,type:`Kind`,anyType:`All kinds`,order:`Sort by`,DISTANCE:`Nearest`,SCORE:`Best rated`,SOLD:`Most sold`,NEWEST:`Newest`,results:`Shops`,none:`No shop is like that. Try fewer words or another kind.`},{title:`搜索`,words:`店名、商圈或街道`,type:`分类`,anyType:`全部分类`,order:`排序`,DISTANCE:`距离最近`,SCORE:`评分最高`,SOLD:`销量最高`,NEWEST:`最新加入`,results:`店铺`,none:`没有符合条件的店铺，试试其他关键词或分类。`}),C=[`DISTANCE`,`SCORE`,`SOLD`,`NEWEST`],w=5e4,T=250;function E(){let e=S(),t=d(),n=s(),[a,p]=r(),h=a.get(`q`)??``,_=a.get(`type`)??``,[{data:v}]=o({query:g,variables:{},requestPolicy:`cache-first`}),T=n===null?C.filter(e=>e!==`DISTANCE`):C,E=T.find(e=>e===a.get(`order`))??T[0],O=(e,t)=>p(n=>{let r=new URLSearchParams(n);return t===``?r.delete(e):r.set(e,t),r},{replace:!0}),k=h.trim(),A={filter:{...k===``?{}:{search:k},..._===``?{}:{typeId:_}},near:E===`DISTANCE`&&n!==null?{lat:n.lat,lng:n.lng,radius:w}:null,orderBy:E},j=JSON.stringify(A);return(0,x.jsxs)(i,{title:e.title,up:`/`,children:[(0,x.jsxs)(`search`,{className:b.form,children:[(0,x.jsx)(D,{label:e.words,value:h,onChange:e=>O(`q`,e)}),(0,x.jsxs)(`div`,{className:b.choices,children:[(0,x.jsx)(l,{label:e.type,children:n=>(0,x.jsxs)(`select`,{...n,value:_,onChange:e=>O(`type`,e.target.value),children:[(0,x.jsx)(`option`,{value:``,children:e.anyType}),v?.shopTypes.map(({id:e,name:n})=>(0,x.jsx)(`option`,{value:e,children:t(n)},e))]})}),(0,x.jsx)(l,{label:e.order,children:t=>(0,x.jsx)(`select`,{...t,value:E,onChange:e=>O(`order`,e.target.value),children:T.map(t=>(0,x.jsx)(`option`,{value:t,children:e[t]},t))})})]})]}),(0,x.jsx)(`h2`,{className:`unseen`,children:e.results}),(0,x.jsx)(m,{name:`shops:${j}`,document:y,variables:A,connection:({shops:e})=>e,className:b.list,loading:(0,x.jsx)(c,{shape:`row`,count:6}),empty:(0,x.jsx)(f,{title:e.none}),children:({node:e,distance:t},n)=>(0,x.jsx)(u,{shop:e,distance:t,eager:n<4})},j)]})}function D({label:e,value:t,onChange:n}){let[r,i]=(0,v.useState)(t),a=p(r,T),o=(0,v.useEffectEvent)(e=>{e!==t&&n(e)});return(0,v.useEffect)(()=>o(a),[a]),(0,x.jsx)(h,{label:e,type:`search`,enterKeyHint:`search`,maxLength:100,value:r,onChange:e=>i(e.target.value)})}export{E as Search};