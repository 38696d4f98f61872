import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{i as t,l as n}from"./preload-helper-DXbBgPnf.js";import{g as r,i,t as a}from"./Button-BJNnZ8XN.js";import{t as o}from"./useApiQuery-DhNs3sUT.js";import{C as s,D as c,E as l,O as u,R as d,S as f,_ as p,b as m,d as h,f as g,g as _,h as v,j as y,m as b,w as x,x as S,y as C}from"./app-B0ZPWHu3.js";import{t as w}from"./types.gql-qD06LI7V.js";import{t as T}from"./format-scrNEY_u.js";import{t as E}from"./document-D_a4HVPm.js";var D=e(n(),1),O=t(),k=i({filters:`Filters`,below:e=>`Under ${e}`,from:e=>`${e}+`,anywhere:`Anywhere`},{filters:`筛选`,below:e=>`${e} 以下`,from:e=>`${e} 以上`,anywhere:`不限位置`});function A({params:e,onChange:t}){let n=k(),r=v(),{money:i,number:a}=T(),o=e=>i(e*100),s=S.map(({from:e,below:t})=>({param:`price`,value:f({from:e,below:t}),text:t===null?n.from(o(e)):e===0?n.below(o(t)):`${o(e)}–${a(t)}`})),c={param:`where`,value:`any`,text:n.anywhere},l=[...C.map(({name:e,param:t,value:n})=>({param:t,value:n,text:r[e]})),...s,...e.get(`where`)===`any`?[c]:[]];return(0,O.jsx)(`ul`,{className:b.chips,"aria-label":n.filters,children:l.map(({param:n,value:r,text:i})=>{let a=e.get(n)===r;return(0,O.jsx)(`li`,{children:(0,O.jsx)(`button`,{type:`button`,"aria-pressed":a,onClick:()=>t(n,a?``:r),children:i})},n+r)})})}var j=E(`5f8cdec28c156efae6be45e336b977510410d6d49532828099abb43ccce68038`,`query SearchShops($filter: ShopFilter, $near: NearInput, $orderBy: ShopOrder, $first: Int = 20, $after: Cursor) {
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
  isOpen
  isSaved
  ...ShopScore
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
fragment ShopScore on Shop {
  id
  rating {
    average
    count
    __typename
  }
  __typename
}
fragment Page on PageInfo {
  hasNextPage
  endCursor
  __typename
}`),M={form:`_form_1ckje_1`,filters:`_filters_1ckje_6`,choices:`_choices_1ckje_10`,list:`_list_1ckje_16`},N=i({title:`Search`,query:`Shop, neighbourhood or street`,type:`Category`,anyType:`All categories`,order:`Sort by`,DISTANCE:`Nearest`,SCORE:`Best rated`,SOLD:`Bestselling`,NEWEST:`Newest`,results:`Shops`,none:`No results. Try a different search, category or filter.`,clear:`Clear filters`,everywhere:`Search everywhere`},{title:`搜索`,query:`店铺、商圈或街道`,type:`分类`,anyType:`全部分类`,order:`排序`,DISTANCE:`距离最近`,SCORE:`评分最高`,SOLD:`销量最高`,NEWEST:`最新加入`,results:`店铺`,none:`没有符合条件的店铺，换个关键词、分类或筛选条件试试。`,clear:`清除筛选`,everywhere:`搜索所有位置`}),P=[`DISTANCE`,`SCORE`,`SOLD`,`NEWEST`],F=5e4,I={open:``,score:``,price:``,voucher:``,sale:``},L=250;function R(){let e=N(),t=p(),n=y(),[i,s]=r(),c=i.get(`q`)??``,f=i.get(`type`)??``,[{data:v}]=o({query:w,variables:{},requestPolicy:`cache-first`}),b=n===null||i.get(`where`)===`any`?null:{lat:n.lat,lng:n.lng,radius:F},S=b===null?P.filter(e=>e!==`DISTANCE`):P,C=S.find(e=>e===i.get(`order`))??S[0],T=e=>s(t=>{let n=new URLSearchParams(t);for(let[t,r]of Object.entries(e))r===``?n.delete(t):n.set(t,r);return n},{replace:!0}),E=(e,t)=>T({[e]:t}),D=d(c.trim(),100),k=m(i),L={filter:{...k,...D===``?{}:{search:D},...f===``?{}:{typeId:f}},near:b,orderBy:C},R=JSON.stringify(L);return(0,O.jsxs)(h,{title:e.title,backTo:`/`,children:[(0,O.jsxs)(`div`,{role:`search`,className:M.form,children:[(0,O.jsx)(z,{label:e.query,value:c,onChange:e=>E(`q`,e)}),(0,O.jsxs)(`div`,{className:M.choices,children:[(0,O.jsx)(u,{label:e.type,children:n=>(0,O.jsxs)(`select`,{...n,value:f,onChange:e=>E(`type`,e.target.value),children:[(0,O.jsx)(`option`,{value:``,children:e.anyType}),v?.shopTypes.map(({id:e,name:n})=>(0,O.jsx)(`option`,{value:e,dir:`auto`,children:t(n)},e))]})}),(0,O.jsx)(u,{label:e.order,children:t=>(0,O.jsx)(`select`,{...t,value:C,onChange:e=>E(`order`,e.target.value),children:S.map(t=>(0,O.jsx)(`option`,{value:t,children:e[t]},t))})})]})]}),(0,O.jsx)(`div`,{className:M.filters,children:(0,O.jsx)(A,{params:i,onChange:E})}),(0,O.jsx)(`h2`,{className:`visually-hidden`,children:e.results}),(0,O.jsx)(g,{name:`shops:${R}`,document:j,variables:L,connection:({shops:e})=>e,className:M.list,loading:(0,O.jsx)(l,{shape:`row`,count:6}),empty:(0,O.jsxs)(x,{title:e.none,children:[Object.keys(k).length>0&&(0,O.jsx)(a,{kind:`quiet`,onClick:()=>T(I),children:e.clear}),b!==null&&(0,O.jsx)(a,{kind:`quiet`,onClick:()=>E(`where`,`any`),children:e.everywhere})]}),children:({node:e,distance:t},n)=>(0,O.jsx)(_,{shop:e,distance:t,eager:n<4})},R)]})}function z({label:e,value:t,onChange:n}){let[r,i]=(0,D.useState)(t),a=s(r,L),o=(0,D.useEffectEvent)(e=>{e!==t&&n(e)});return(0,D.useEffect)(()=>o(a),[a]),(0,O.jsx)(c,{label:e,type:`search`,enterKeyHint:`search`,value:r,onChange:e=>i(e.target.value)})}export{R as Search};