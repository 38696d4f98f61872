import{t as e}from"./errors-DcrNRUMo.js";import{a as t,o as n,s as r,t as i}from"./Pages-BpLLZcZH.js";import{a,d as o,t as s}from"./Screen-C350eDAS.js";import{v as c}from"./app-BGlO7Pxs.js";import{t as l}from"./FollowButton-BluOL3un.js";import{n as u}from"./preload-helper-Chrg9qMa.js";import{Lost as d}from"./Lost-C5skASWc.js";import{t as f}from"./State-D8b8ZBCb.js";import{t as p}from"./document-BthJQ_51.js";var m={row:`_row_1pvdo_1`,text:`_text_1pvdo_8`,name:`_name_1pvdo_21`},h=u(),g=a({followers:(e,t)=>e===1?`1 follower`:`${t} followers`},{followers:(e,t)=>`${t} 位粉丝`});function _({user:e}){let t=g(),{number:r}=n();return(0,h.jsxs)(`div`,{className:m.row,children:[(0,h.jsx)(c,{user:e,size:44}),(0,h.jsxs)(`div`,{className:m.text,children:[(0,h.jsx)(o,{href:`/users/${e.id}`,className:m.name,children:e.nickname}),(0,h.jsx)(`p`,{children:e.bio??t.followers(e.followerCount,r(e.followerCount))})]}),(0,h.jsx)(l,{user:e,small:!0})]})}var v=p(`af3746082cd8b5f39466adb700ad99eaa39a28ef79018c06869851d8c8650390`,`query UserName($id: ID!) {
  user(id: $id) {
    id
    nickname
    __typename
  }
}`),y=p(`0c7d6faa79f115400cc5988b27a11979a7c26e8af80fd9cf6a14604348a36946`,`query Followers($id: ID!, $after: Cursor) {
  user(id: $id) {
    id
    people: followers(first: 20, after: $after) {
      ...PeoplePage
      __typename
    }
    __typename
  }
}
fragment PeoplePage on UserConnection {
  edges {
    node {
      ...Person
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
fragment Person on User {
  id
  nickname
  avatarUrl
  bio
  isFollowed
  followerCount
  __typename
}
fragment Page on PageInfo {
  hasNextPage
  endCursor
  __typename
}`),b=p(`53eddcc57e406491c723274d062b66c66894b18ba88824322a071a16e4051aba`,`query Followees($id: ID!, $after: Cursor) {
  user(id: $id) {
    id
    people: followees(first: 20, after: $after) {
      ...PeoplePage
      __typename
    }
    __typename
  }
}
fragment PeoplePage on UserConnection {
  edges {
    node {
      ...Person
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
fragment Person on User {
  id
  nickname
  avatarUrl
  bio
  isFollowed
  followerCount
  __typename
}
fragment Page on PageInfo {
  hasNextPage
  endCursor
  __typename
}`),x=p(`dd69e3e9b4751864266507ad930d9ab2e58808bada5fcecee69fc1c184639ba5`,`query CommonFollowees($id: ID!, $after: Cursor) {
  user(id: $id) {
    id
    people: commonFollowees(first: 20, after: $after) {
      ...PeoplePage
      __typename
    }
    __typename
  }
}
fragment PeoplePage on UserConnection {
  edges {
    node {
      ...Person
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
fragment Person on User {
  id
  nickname
  avatarUrl
  bio
  isFollowed
  followerCount
  __typename
}
fragment Page on PageInfo {
  hasNextPage
  endCursor
  __typename
}`),S={people:`_people_gdiwo_1`,list:`_list_gdiwo_5`},C=a({followers:e=>`Who follows ${e}`,followees:e=>`Whom ${e} follows`,common:e=>`Whom both you and ${e} follow`,none:`Nobody yet.`,somebody:`…`},{followers:e=>`${e} 的粉丝`,followees:e=>`${e} 的关注`,common:e=>`你和 ${e} 的共同关注`,none:`还没有人。`,somebody:`…`}),w={followers:y,followees:b,common:x};function T({id:n,list:a}){let o=C(),[{data:c,error:l}]=r({query:v,variables:{id:n}});return a!==`followers`&&a!==`followees`&&a!==`common`||c?.user===null||l&&e(l)===`BAD_USER_INPUT`?(0,h.jsx)(d,{}):(0,h.jsx)(s,{title:o[a](c?.user?.nickname??o.somebody),up:`/users/${n}`,children:(0,h.jsx)(`div`,{className:S.people,children:(0,h.jsx)(i,{name:a,document:w[a],variables:{id:n},connection:({user:e})=>e?.people,loading:(0,h.jsx)(t,{shape:`row`,count:4}),empty:(0,h.jsx)(f,{title:o.none}),className:S.list,children:({node:e})=>(0,h.jsx)(_,{user:e})})})})}export{T as People};