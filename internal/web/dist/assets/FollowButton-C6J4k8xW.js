import{D as e,k as t}from"./app-Bg9IAqlN.js";import{s as n,u as r}from"./Screen-CySPHyEf.js";import{a as i}from"./session-rGo10Wj6.js";import{t as a}from"./document-bm9CNBvx.js";import{n as o}from"./preload-helper-Chrg9qMa.js";var s=a(`bedae1796c2f296971c6b046a4b7c0f0ff7df96008ac41b428f4703746c8f07d`,`mutation Follow($userId: ID!) {
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
}`),l=o(),u=r({follow:`Follow`,followed:`Following`},{follow:`关注`,followed:`已关注`});function d({user:r,small:a=!1}){let o=u(),d=i(),f=e(),[p]=t(s),[m]=t(c);return d?.userId===r.id?null:(0,l.jsx)(n,{small:a,kind:r.isFollowed?`quiet`:`primary`,"aria-pressed":r.isFollowed,onClick:()=>{f()&&(r.isFollowed?m:p)({userId:r.id})},children:(0,l.jsxs)(`span`,{children:[r.isFollowed?o.followed:o.follow,(0,l.jsxs)(`span`,{className:`unseen`,children:[` `,r.nickname]})]})})}export{d as t};