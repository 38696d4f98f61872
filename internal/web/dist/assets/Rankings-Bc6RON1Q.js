import{g as e,h as t,i as n}from"./Button-BJNnZ8XN.js";import{t as r}from"./useApiQuery-DhNs3sUT.js";import{E as i,O as a,_ as o,d as s,f as c,g as l,w as u}from"./app-B0ZPWHu3.js";import{t as d}from"./types.gql-qD06LI7V.js";import{t as f}from"./Tabs-CkW6ji4J.js";import{t as p}from"./document-D_a4HVPm.js";import{i as m}from"./preload-helper-DXbBgPnf.js";var h=p(`d42ab52cdb63e04ef398f1babdb13cdc73850ec1693fbd0c1d8b9b6c4037b7ab`,`query Rankings($kind: ShopRankingKind!, $typeId: ID, $after: Cursor) {
  shopRanking(kind: $kind, typeId: $typeId, first: 20, after: $after) {
    edges {
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
}`),g={choices:`_choices_ldpl8_1`,list:`_list_ldpl8_8`},_=m(),v=n({title:`Rankings`,trending:`Trending`,rated:`Top rated`,selling:`Bestselling`,type:`Category`,anyType:`All categories`,none:`No shops ranked here yet`},{title:`排行榜`,trending:`热门`,rated:`高分`,selling:`热销`,type:`分类`,anyType:`全部分类`,none:`暂无上榜店铺。`}),y=[`trending`,`rated`,`selling`],b={trending:`TRENDING`,rated:`TOP_RATED`,selling:`BEST_SELLING`};function x(e,t){let n=new URLSearchParams;e!==`trending`&&n.set(`by`,e),t!==``&&n.set(`type`,t);let r=n.toString();return r===``?`/rankings`:`/rankings?${r}`}function S(){let n=v(),p=o(),[m]=e(),[,S]=t(),C=y.find(e=>e===m.get(`by`))??`trending`,w=m.get(`type`)??``,[{data:T}]=r({query:d,variables:{},requestPolicy:`cache-first`});return(0,_.jsxs)(s,{title:n.title,backTo:`/`,children:[(0,_.jsxs)(`div`,{className:g.choices,children:[(0,_.jsx)(f,{label:n.title,tabs:y.map(e=>({href:x(e,w),text:n[e]})),current:x(C,w)}),(0,_.jsx)(a,{label:n.type,children:e=>(0,_.jsxs)(`select`,{...e,value:w,onChange:e=>S(x(C,e.target.value),{replace:!0}),children:[(0,_.jsx)(`option`,{value:``,children:n.anyType}),T?.shopTypes.map(({id:e,name:t})=>(0,_.jsx)(`option`,{value:e,dir:`auto`,children:p(t)},e))]})})]}),(0,_.jsx)(`h2`,{className:`visually-hidden`,children:n[C]}),(0,_.jsx)(c,{name:`${C}:${w}`,document:h,variables:{kind:b[C],typeId:w===``?null:w},connection:({shopRanking:e})=>e,className:g.list,loading:(0,_.jsx)(i,{shape:`row`,count:6}),empty:(0,_.jsx)(u,{title:n.none}),children:({node:e},t)=>(0,_.jsx)(l,{shop:e,eager:t<4})},C+w)]})}export{S as Rankings};