import{t as e}from"./document-D_a4HVPm.js";var t=e(`3f14ce2d5a4f0e1d0c0b0c0e5d495ce89f8d802d75b4dea3ffa65ed85fd42910`,`query Order($id: ID!) {
  order(id: $id) {
    ...OrderState
    voucher {
      ...VoucherFacts
      __typename
    }
    __typename
  }
}
fragment OrderState on Order {
  id
  number
  status
  payValue
  payMethod
  failure {
    code
    message
    __typename
  }
  createdAt
  paidAt
  usedAt
  cancelledAt
  refundedAt
  payBefore
  __typename
}
fragment VoucherFacts on Voucher {
  kind: __typename
  id
  title
  subTitle
  rules
  payValue
  faceValue
  status
  onePerUser
  shop {
    id
    name
    address
    images {
      thumbnailUrl
      __typename
    }
    __typename
  }
  __typename
}`),n=e(`4c5729c7f982527084f94b3fe3c6eaa6e54753f2a9a8eedf3fa60c4925d0dc10`,`subscription OrderUpdates($orderId: ID) {
  orderUpdates(orderId: $orderId) {
    ...OrderState
    __typename
  }
}
fragment OrderState on Order {
  id
  number
  status
  payValue
  payMethod
  failure {
    code
    message
    __typename
  }
  createdAt
  paidAt
  usedAt
  cancelledAt
  refundedAt
  payBefore
  __typename
}`),r={QUEUED:0,UNPAID:1,PAID:2,REFUNDING:3,USED:4,CANCELLED:4,REFUNDED:4,FAILED:4},i=4;function a(e){return r[e]===i}function o(e,t){if(!t)return e;if(e===null||e.id!==t.id)return t;let[n,a]=[r[e.status],r[t.status]];return a<n||a===i&&n===i&&e.status!==t.status?e:t}export{n as i,o as n,t as r,a as t};