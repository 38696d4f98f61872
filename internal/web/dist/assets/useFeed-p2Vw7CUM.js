import{o as e}from"./rolldown-runtime-BCiCTKAo.js";import{a as t}from"./preload-helper-Chrg9qMa.js";import{i as n,t as r}from"./document-bm9CNBvx.js";import{t as i}from"./store-BoUQ0Mj2.js";var a=e(t(),1),o={start:null,ready:!1,page:null,waiting:[],tops:[],topped:[],removed:new Set,round:0};function s(e,t){return t===e.start?e:{...e,start:t,ready:!1}}function c(e,t){let n=e.page===null?s(e,t.liveCursor):e,r=e.waiting.filter(e=>!p(t,e));if(t.liveCursor===e.page?.liveCursor)return{...n,page:t,waiting:r};let i=e.topped.filter(e=>!p(t,e)),a=new Set(i.map(({id:e})=>e)),o=e.tops.map(e=>e.filter(e=>a.has(e)));return{...n,page:t,waiting:r,topped:i,tops:o.filter(e=>e.length>0)}}function l(e,t){switch(t.kind){case`ready`:return e.ready?e:{...e,ready:!0};case`removed`:return{...e,removed:new Set([...e.removed,t.noteId]),waiting:e.waiting.filter(({id:e})=>e!==t.noteId)};case`resync`:return{...e,waiting:[],tops:[],topped:[],round:e.round+1};case`added`:{let{note:n}=t;return e.removed.has(n.id)||e.waiting.some(({id:e})=>e===n.id)||e.tops.some(e=>e.includes(n.id))||e.page!==null&&p(e.page,n)?e:{...e,waiting:[n,...e.waiting]}}}}function u(e,t){let n=e.waiting.filter(({id:e})=>t.includes(e));return n.length===0?e:{...e,tops:[n.map(({id:e})=>e),...e.tops],topped:[...n,...e.topped],waiting:e.waiting.filter(({id:e})=>!t.includes(e))}}function d(e){return{...o,removed:e.removed,round:e.round+1}}function f(e){return new Set([...e.tops.flat(),...e.removed])}function p({notes:e,more:t},{id:n,createdAt:r}){if(e.some(e=>e.id===n))return!0;let i=e.at(-1);return t&&i!==void 0&&Date.parse(r)<Date.parse(i.createdAt)}var m=r(`7380ed4793d56dd34f7b63013d956973da865357fc2fd9f161a4318c421b546e`,`query Feed($after: Cursor) {
  me {
    id
    followeeCount
    feed(first: 10, after: $after) {
      liveCursor
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
  __typename
}
fragment Page on PageInfo {
  hasNextPage
  endCursor
  __typename
}`),h=r(`4fcff63e363088c17f0ae5d79293689501202dc34dc29f9847751343a2b5ae74`,`query FeedStart {
  me {
    id
    feed(first: 1) {
      liveCursor
      __typename
    }
    __typename
  }
}`),g=r(`8747661e0580fd27244184dd308bb1e3635121d1fff39d659eda6b5d26247ee4`,`query FeedNotes($ids: [ID!]!) {
  nodes(ids: $ids) {
    ...NoteCard
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
  __typename
}`),_=r(`a03d49ba17dc61d577091ab013635a25f4a87b73a2853cecb694e995f4700d57`,`subscription FeedUpdates($after: Cursor) {
  feedUpdates(after: $after) {
    __typename
    ... on FeedNoteAdded {
      cursor
      note {
        id
        createdAt
        __typename
      }
      __typename
    }
    ... on FeedNoteRemoved {
      cursor
      noteId
      __typename
    }
    ... on FeedReady {
      cursor
      __typename
    }
    ... on FeedResync {
      cursor
      __typename
    }
  }
}`),v=r(`f5c1c9b8f4ebda92a5101162186b453d2366149fa37acd383220654798f17485`,`query Suggestions {
  hotNotes(first: 20) {
    edges {
      node {
        id
        author {
          ...Person
          __typename
        }
        __typename
      }
      __typename
    }
    __typename
  }
}
fragment Person on User {
  id
  nickname
  avatarUrl
  bio
  isFollowed
  followerCount
  __typename
}`),y=new WeakMap;function b(){let e=n(),t=y.get(e);return t===void 0&&(t=i(o),y.set(e,t)),[(0,a.useSyncExternalStore)(t.subscribe,t.get),t]}export{_ as a,d as c,u as d,l as f,h as i,f as l,m as n,v as o,g as r,s,b as t,c as u};