import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{i as t,l as n}from"./preload-helper-DXbBgPnf.js";import{C as r,t as i,u as a}from"./Screen-CJ1iDuWr.js";import{t as o}from"./useApiQuery-DhNs3sUT.js";import{M as s,S as c,_ as l,d as u,f as d,h as f,m as p,u as m,v as h,y as g}from"./app-VJxpKxNi.js";import{t as _}from"./types.gql-qD06LI7V.js";import{t as v}from"./document-D_a4HVPm.js";var y=e(n(),1),b=v(`64acf20a4dea851b66b524c5b492cab421d2949e2b2203dfff26a577ed282020`,`query SearchShops($filter: ShopFilter, $near: NearInput, $orderBy: ShopOrder, $first: Int = 20, $after: Cursor) {
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
}`),x={form:`_form_aalfx_1`,choices:`_choices_aalfx_7`,list:`_list_aalfx_13`},S=t(),C=a({title:`Search`,query:`Shop, neighbourhood or street`,type:`Category`,anyType:`All categories`,order:`Sort by`,DISTANCE:`Nearest`,SCORE:`Best rated`,SOLD:`Bestselling`,NEWEST:`Newest`,results:`Shops`,none:`No results. Try a different search or category.`},{title:`搜索`,query:`店铺、商圈或街道`,type:`分类`,anyType:`全部分类`,order:`排序`,DISTANCE:`距离最近`,SCORE:`评分最高`,SOLD:`销量最高`,NEWEST:`最新加入`,results:`店铺`,none:`没有符合条件的店铺，换个关键词或分类试试。`}),w=[`DISTANCE`,`SCORE`,`SOLD`,`NEWEST`],T=5e4,E=250;function D(){let e=C(),t=d(),n=c(),[a,p]=r(),h=a.get(`q`)??``,v=a.get(`type`)??``,[{data:y}]=o({query:_,variables:{},requestPolicy:`cache-first`}),E=n===null?w.filter(e=>e!==`DISTANCE`):w,D=E.find(e=>e===a.get(`order`))??E[0],k=(e,t)=>p(n=>{let r=new URLSearchParams(n);return t===``?r.delete(e):r.set(e,t),r},{replace:!0}),A=s(h.trim(),100),j={filter:{...A===``?{}:{search:A},...v===``?{}:{typeId:v}},near:D===`DISTANCE`&&n!==null?{lat:n.lat,lng:n.lng,radius:T}:null,orderBy:D},M=JSON.stringify(j);return(0,S.jsxs)(i,{title:e.title,backTo:`/`,children:[(0,S.jsxs)(`div`,{role:`search`,className:x.form,children:[(0,S.jsx)(O,{label:e.query,value:h,onChange:e=>k(`q`,e)}),(0,S.jsxs)(`div`,{className:x.choices,children:[(0,S.jsx)(g,{label:e.type,children:n=>(0,S.jsxs)(`select`,{...n,value:v,onChange:e=>k(`type`,e.target.value),children:[(0,S.jsx)(`option`,{value:``,children:e.anyType}),y?.shopTypes.map(({id:e,name:n})=>(0,S.jsx)(`option`,{value:e,dir:`auto`,children:t(n)},e))]})}),(0,S.jsx)(g,{label:e.order,children:t=>(0,S.jsx)(`select`,{...t,value:D,onChange:e=>k(`order`,e.target.value),children:E.map(t=>(0,S.jsx)(`option`,{value:t,children:e[t]},t))})})]})]}),(0,S.jsx)(`h2`,{className:`visually-hidden`,children:e.results}),(0,S.jsx)(m,{name:`shops:${M}`,document:b,variables:j,connection:({shops:e})=>e,className:x.list,loading:(0,S.jsx)(l,{shape:`row`,count:6}),empty:(0,S.jsx)(f,{title:e.none}),children:({node:e,distance:t},n)=>(0,S.jsx)(u,{shop:e,distance:t,eager:n<4})},M)]})}function O({label:e,value:t,onChange:n}){let[r,i]=(0,y.useState)(t),a=p(r,E),o=(0,y.useEffectEvent)(e=>{e!==t&&n(e)});return(0,y.useEffect)(()=>o(a),[a]),(0,S.jsx)(h,{label:e,type:`search`,enterKeyHint:`search`,value:r,onChange:e=>i(e.target.value)})}export{D as Search};