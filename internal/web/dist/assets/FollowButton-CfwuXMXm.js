import{D as e,T as t}from"./app-C_ToAT57.js";import{l as n,o as r}from"./Screen-DdURs_yY.js";import{a as i}from"./session-zqIz0r0r.js";import{t as a}from"./document-bm9CNBvx.js";import{n as o}from"./preload-helper-Chrg9qMa.js";var s=a(`bedae1796c2f296971c6b046a4b7c0f0ff7df96008ac41b428f4703746c8f07d`,`mutation Follow($userId: ID!) {
  follow(userId: $userId) {
    user {
      id
      isFollowed
      followerCount
      __typename
    }
    userErrors {
      ...Refused
      __typename
    }
    __typename
  }
}
fragment Refused on UserError {
  code
  message
  field
  __typename
}`),c=a(`3493971acb7085469a71e2517fb1610749a06b2d7b1d180fdbcff9e7022a6410`,`mutation Unfollow($userId: ID!) {
  unfollow(userId: $userId) {
    user {
      id
      isFollowed
      followerCount
      __typename
    }
    userErrors {
      ...Refused
      __typename
    }
    __typename
  }
}
fragment Refused on UserError {
  code
  message
  field
  __typename
}`),l=o(),u=n({follow:`Follow`,followed:`Following`},{follow:`关注`,followed:`已关注`});function d({user:n,small:a=!1}){let o=u(),d=i(),f=t(),[p]=e(s),[m]=e(c);return d?.userId===n.id?null:(0,l.jsx)(r,{small:a,kind:n.isFollowed?`quiet`:`primary`,"aria-pressed":n.isFollowed,onClick:()=>{f()&&(n.isFollowed?m:p)({userId:n.id})},children:(0,l.jsxs)(`span`,{children:[n.isFollowed?o.followed:o.follow,(0,l.jsxs)(`span`,{className:`unseen`,children:[` `,n.nickname]})]})})}export{d as t};