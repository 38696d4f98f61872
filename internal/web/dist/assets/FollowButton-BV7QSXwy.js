import{i as e,t}from"./document-D_a4HVPm.js";import{t as n}from"./useApiMutation-fQMMxfHh.js";import{l as r,t as i}from"./useFeed-BR_npFTv.js";import{i as a,t as o}from"./Button-BJNnZ8XN.js";import{a as s}from"./session-JQV9-zIN.js";import{n as c}from"./useSignInGuard-CK1--RHy.js";import{i as l}from"./preload-helper-DXbBgPnf.js";var u=t(`2f81812d894e95b8c8bf85dbe3ba8e80409283f76f3fbc047df868e902bca3a4`,`mutation Follow($userId: ID!) {
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
  retryAfterSeconds
  __typename
}`),d=t(`57cd89b7a955f850a2dd0160e0077143af66d6584f95f287063373e0a7afc9cd`,`mutation Unfollow($userId: ID!) {
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
  retryAfterSeconds
  __typename
}`),f=l(),p=a({follow:`Follow`,followed:`Following`},{follow:`关注`,followed:`已关注`});function m({user:t,small:a=!1}){let l=p(),m=s(),h=c(),[g]=n(u),[_]=n(d),v=i(e());if(m?.userId===t.id)return null;let y=async()=>{t.isFollowed?(await _({userId:t.id})).ok&&v.set(r(v.get(),t.id)):await g({userId:t.id})};return(0,f.jsx)(o,{small:a,kind:t.isFollowed?`quiet`:`primary`,"aria-pressed":t.isFollowed,onClick:()=>{h()&&y()},children:(0,f.jsxs)(`span`,{children:[t.isFollowed?l.followed:l.follow,(0,f.jsxs)(`span`,{className:`visually-hidden`,children:[` `,(0,f.jsx)(`bdi`,{children:t.nickname})]})]})})}export{m as t};