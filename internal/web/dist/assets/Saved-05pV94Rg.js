import{g as e,i as t,n}from"./Button-BJNnZ8XN.js";import{E as r,M as i,d as a,f as o,g as s,w as c}from"./app-B0ZPWHu3.js";import{t as l}from"./Tabs-CkW6ji4J.js";import{t as u}from"./document-D_a4HVPm.js";import{i as d}from"./preload-helper-DXbBgPnf.js";var f=u(`d678c710246d2ece3a23ad9607891c0ad9d69a2b670baf9e351c52ddb622c2d8`,`query SavedShops($after: Cursor) {
  me {
    id
    savedShops(first: 20, after: $after) {
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
}`),p=u(`276f101e2fa1849564e649de9344061b7816d9a60619af6df56b708d95c65f5b`,`query SavedNotes($after: Cursor) {
  me {
    id
    savedNotes(first: 10, after: $after) {
      edges {
        node {
          ...NoteCard
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
    __typename
  }
}
fragment NoteCard on Note {
  id
  title
  content
  likeCount
  commentCount
  isLiked
  isSaved
  createdAt
  images {
    thumbnailUrl
    width
    height
    __typename
  }
  author {
    id
    nickname
    avatarUrl
    __typename
  }
  shop {
    id
    name
    __typename
  }
  authorRating {
    stars
    __typename
  }
  __typename
}
fragment Page on PageInfo {
  hasNextPage
  endCursor
  __typename
}`),m={tabs:`_tabs_1pimw_1`,list:`_list_1pimw_5`},h=d(),g=t({title:`Saved`,shops:`Shops`,notes:`Notes`,noShops:`No saved shops yet. Tap the bookmark of a shop to keep it here.`,noNotes:`No saved notes yet. Tap the bookmark of a note to keep it here.`,browse:`Discover shops`},{title:`我的收藏`,shops:`店铺`,notes:`笔记`,noShops:`还没有收藏店铺，点击店铺的书签即可收藏。`,noNotes:`还没有收藏笔记，点击笔记的书签即可收藏。`,browse:`去逛逛`});function _(){let t=g(),[u]=e(),d=u.get(`part`)===`notes`,_=(0,h.jsx)(n,{href:`/`,children:t.browse});return(0,h.jsxs)(a,{title:t.title,backTo:`/me`,children:[(0,h.jsx)(`div`,{className:m.tabs,children:(0,h.jsx)(l,{label:t.title,tabs:[{href:`/saved`,text:t.shops},{href:`/saved?part=notes`,text:t.notes}],current:d?`/saved?part=notes`:`/saved`})}),(0,h.jsx)(`h2`,{className:`visually-hidden`,children:d?t.notes:t.shops}),d?(0,h.jsx)(o,{name:`notes`,document:p,variables:{},connection:({me:e})=>e?.savedNotes,alwaysRefetch:!0,className:m.list,loading:(0,h.jsx)(r,{shape:`card`,count:2}),empty:(0,h.jsx)(c,{title:t.noNotes,children:_}),children:({node:e},t)=>(0,h.jsx)(i,{note:e,eager:t===0})}):(0,h.jsx)(o,{name:`shops`,document:f,variables:{},connection:({me:e})=>e?.savedShops,alwaysRefetch:!0,className:m.list,loading:(0,h.jsx)(r,{shape:`row`,count:6}),empty:(0,h.jsx)(c,{title:t.noShops,children:_}),children:({node:e},t)=>(0,h.jsx)(s,{shop:e,eager:t<4})})]})}export{_ as Saved};