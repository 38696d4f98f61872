import{t as e}from"./useApiQuery-DhNs3sUT.js";import{i as t,n}from"./Button-BJNnZ8XN.js";import{E as r,T as i,w as a}from"./app-B0ZPWHu3.js";import{t as o}from"./document-D_a4HVPm.js";import{i as s}from"./preload-helper-DXbBgPnf.js";var c=o(`6111ce526334fabe471c54fd5bf4b20898bf28510ee7d8e0c8d277ea9cfd1822`,`query MyRole {
  me {
    id
    role
    __typename
  }
}`),l=o(`93ffde1eefdb58f7b263f63caabb03bf93ea13c62bb6e3bf84287ba5805bb591`,`query MyShops($first: Int! = 20, $after: Cursor) {
  me {
    id
    shops(first: $first, after: $after) {
      edges {
        node {
          ...MerchantShop
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
fragment MerchantShop on Shop {
  id
  name
  area
  address
  ...ShopScore
  sold
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
}`),u=s(),d=t({merchants:`This page is for merchants only.`,admins:`This page is for admins only.`,home:`Discover shops`},{merchants:`此页面仅供商家使用。`,admins:`此页面仅供管理员使用。`,home:`去逛逛`}),f={CUSTOMER:0,MERCHANT:1,ADMIN:2};function p({role:t,children:o}){let s=d(),[{data:l,error:p},m]=e({query:c,variables:{},requestPolicy:`cache-first`});return l?f[l.me?.role??`CUSTOMER`]>=f[t]?o:(0,u.jsx)(`div`,{"data-refused":t,children:(0,u.jsx)(a,{title:t===`MERCHANT`?s.merchants:s.admins,children:(0,u.jsx)(n,{kind:`quiet`,href:`/`,children:s.home})})}):p?(0,u.jsx)(i,{error:p,onRetry:()=>m({requestPolicy:`network-only`})}):(0,u.jsx)(r,{shape:`text`,count:2})}export{l as n,p as t};