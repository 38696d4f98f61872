import{t as e}from"./document-D_a4HVPm.js";var t=e(`fa8b7890f4beaca355952588aed91a137c1c9261a4ff115dab59e4b5974f30a4`,`query Order($id: ID!) {
  order(id: $id) {
    ...OrderState
    terms {
      title
      subTitle
      rules
      faceValue
      __typename
    }
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
  redeemedBy {
    id
    nickname
    __typename
  }
  redemptionDisputedAt
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
}`),n=e(`04b2010aa56bd989f45d3f9d4b2c10b12a255031089609ad1168db378fc057d8`,`subscription OrderUpdates($orderId: ID) {
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
  redeemedBy {
    id
    nickname
    __typename
  }
  redemptionDisputedAt
  cancelledAt
  refundedAt
  payBefore
  __typename
}`),r={QUEUED:0,UNPAID:1,PAID:2,USED:3,REFUNDING:4,CANCELLED:5,REFUNDED:5,FAILED:5},i=5;function a(e){return e===`USED`||r[e]===i}function o(e,t){if(!t)return e;if(e===null||e.id!==t.id)return t;let[n,i]=[r[e.status],r[t.status]];return i<n||i===n&&e.redemptionDisputedAt!==null&&t.redemptionDisputedAt===null?e:e.status===t.status||!a(e.status)||!a(t.status)||e.status===`USED`&&t.status===`REFUNDED`?t:e}export{n as i,o as n,t as r,a as t};