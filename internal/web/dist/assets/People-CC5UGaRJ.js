import{t as e}from"./errors-DzDCqRf4.js";import{t}from"./useAsk-ChgyYjXc.js";import{t as n,u as r}from"./Screen-DN1Y-HZ_.js";import{t as i}from"./PersonRow-u_0ecUsG.js";import{Lost as a}from"./Lost-Cwg82_Ht.js";import{_ as o,h as s,u as c}from"./app-C5XjqgC4.js";import{t as l}from"./document-bm9CNBvx.js";import{n as u}from"./preload-helper-Chrg9qMa.js";var d=l(`af3746082cd8b5f39466adb700ad99eaa39a28ef79018c06869851d8c8650390`,`query UserName($id: ID!) {
  user(id: $id) {
    id
    nickname
    __typename
  }
}`),f=l(`0c7d6faa79f115400cc5988b27a11979a7c26e8af80fd9cf6a14604348a36946`,`query Followers($id: ID!, $after: Cursor) {
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
}`),p=l(`53eddcc57e406491c723274d062b66c66894b18ba88824322a071a16e4051aba`,`query Followees($id: ID!, $after: Cursor) {
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
}`),m=l(`dd69e3e9b4751864266507ad930d9ab2e58808bada5fcecee69fc1c184639ba5`,`query CommonFollowees($id: ID!, $after: Cursor) {
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
}`),h={people:`_people_gdiwo_1`,list:`_list_gdiwo_5`},g=u(),_=r({followers:e=>`Who follows ${e}`,followees:e=>`Whom ${e} follows`,common:e=>`Whom both you and ${e} follow`,none:`Nobody yet.`,somebody:`…`},{followers:e=>`${e} 的粉丝`,followees:e=>`${e} 的关注`,common:e=>`你和 ${e} 的共同关注`,none:`还没有人。`,somebody:`…`}),v={followers:f,followees:p,common:m};function y({id:r,list:l}){let u=_(),[{data:f,error:p}]=t({query:d,variables:{id:r}});return l!==`followers`&&l!==`followees`&&l!==`common`||f?.user===null||p&&e(p)===`BAD_USER_INPUT`?(0,g.jsx)(a,{}):(0,g.jsx)(n,{title:u[l](f?.user?.nickname??u.somebody),up:`/users/${r}`,children:(0,g.jsx)(`div`,{className:h.people,children:(0,g.jsx)(c,{name:l,document:v[l],variables:{id:r},connection:({user:e})=>e?.people,loading:(0,g.jsx)(o,{shape:`row`,count:4}),empty:(0,g.jsx)(s,{title:u.none}),className:h.list,children:({node:e})=>(0,g.jsx)(i,{user:e})})})})}export{y as People};