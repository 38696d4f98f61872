import{t as e}from"./errors-CWz5aWUu.js";import{t}from"./useApiQuery-DhNs3sUT.js";import{i as n,r}from"./preload-helper-DXbBgPnf.js";import{i}from"./Button-BJNnZ8XN.js";import{t as a}from"./PersonRow-BxFE0j37.js";import{NotFound as o}from"./NotFound-D72cODaU.js";import{E as s,d as c,f as l,w as u}from"./app-B0ZPWHu3.js";import{t as d}from"./document-D_a4HVPm.js";var f=d(`af3746082cd8b5f39466adb700ad99eaa39a28ef79018c06869851d8c8650390`,`query UserName($id: ID!) {
  user(id: $id) {
    id
    nickname
    __typename
  }
}`),p=d(`0c7d6faa79f115400cc5988b27a11979a7c26e8af80fd9cf6a14604348a36946`,`query Followers($id: ID!, $after: Cursor) {
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
}`),m=d(`53eddcc57e406491c723274d062b66c66894b18ba88824322a071a16e4051aba`,`query Followees($id: ID!, $after: Cursor) {
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
}`),h=d(`dd69e3e9b4751864266507ad930d9ab2e58808bada5fcecee69fc1c184639ba5`,`query CommonFollowees($id: ID!, $after: Cursor) {
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
}`),g={people:`_people_gdiwo_1`,list:`_list_gdiwo_5`},_=n(),v=i({followers:e=>`${e}’s followers`,followees:e=>`People ${e} follows`,common:e=>`Followed by you and ${e}`,none:`No one here yet`,unknown:`…`},{followers:e=>`${e} 的粉丝`,followees:e=>`${e} 的关注`,common:e=>`你和 ${e} 的共同关注`,none:`还没有人。`,unknown:`…`}),y={followers:p,followees:m,common:h};function b({id:n,list:i}){let d=v(),[{data:p,error:m}]=t({query:f,variables:{id:n}});return i!==`followers`&&i!==`followees`&&i!==`common`||p?.user===null||m&&e(m)===`BAD_USER_INPUT`?(0,_.jsx)(o,{}):(0,_.jsx)(c,{title:d[i](r(p?.user?.nickname??d.unknown)),backTo:`/users/${n}`,children:(0,_.jsx)(`div`,{className:g.people,children:(0,_.jsx)(l,{name:i,document:y[i],variables:{id:n},connection:({user:e})=>e?.people,loading:(0,_.jsx)(s,{shape:`row`,count:4}),empty:(0,_.jsx)(u,{title:d.none}),className:g.list,children:({node:e})=>(0,_.jsx)(a,{user:e})})})})}export{b as People};