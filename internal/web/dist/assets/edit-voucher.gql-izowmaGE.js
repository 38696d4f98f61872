import{t as e}from"./document-D_a4HVPm.js";var t=e(`0f26c6175a75abd2c4c6b96d6afd0f99858c0da3bdf4995f280a6be2ced494de`,`query VoucherForm($id: ID!) {
  voucher(id: $id) {
    ...VoucherForm
    __typename
  }
}
fragment VoucherForm on Voucher {
  ...MerchantVoucher
  rules
  onePerUser
  shop {
    id
    name
    __typename
  }
  __typename
}
fragment MerchantVoucher on Voucher {
  id
  title
  subTitle
  payValue
  faceValue
  status
  ... on FlashVoucher {
    sale {
      ...SaleState
      __typename
    }
    __typename
  }
  __typename
}
fragment SaleState on FlashSale {
  voucherId
  stock
  initialStock
  beginsAt
  endsAt
  phase
  __typename
}`),n=e(`28588145f83dba4f90eef2dc27ad64882af8f8263346f4b67e522915815667b0`,`query VoucherFormShop($id: ID!) {
  shop(id: $id) {
    id
    name
    __typename
  }
}`),r=e(`b0e21783aedd1b0d8e00738e689a949e334ebedb79b9ff4c1a3f3af974f22912`,`mutation CreateVoucher($input: CreateVoucherInput!) {
  createVoucher(input: $input) {
    voucher {
      ...VoucherForm
      __typename
    }
    userErrors {
      ...Refused
      __typename
    }
    __typename
  }
}
fragment VoucherForm on Voucher {
  ...MerchantVoucher
  rules
  onePerUser
  shop {
    id
    name
    __typename
  }
  __typename
}
fragment MerchantVoucher on Voucher {
  id
  title
  subTitle
  payValue
  faceValue
  status
  ... on FlashVoucher {
    sale {
      ...SaleState
      __typename
    }
    __typename
  }
  __typename
}
fragment SaleState on FlashSale {
  voucherId
  stock
  initialStock
  beginsAt
  endsAt
  phase
  __typename
}
fragment Refused on UserError {
  code
  message
  field
  retryAfterSeconds
  __typename
}`),i=e(`f165d516d8dcd4ee194d66d010c0e4b95880b5772a691b4e5a37003a3d390a33`,`mutation CreateFlashVoucher($input: CreateFlashVoucherInput!) {
  createFlashVoucher(input: $input) {
    voucher {
      ...VoucherForm
      __typename
    }
    userErrors {
      ...Refused
      __typename
    }
    __typename
  }
}
fragment VoucherForm on Voucher {
  ...MerchantVoucher
  rules
  onePerUser
  shop {
    id
    name
    __typename
  }
  __typename
}
fragment MerchantVoucher on Voucher {
  id
  title
  subTitle
  payValue
  faceValue
  status
  ... on FlashVoucher {
    sale {
      ...SaleState
      __typename
    }
    __typename
  }
  __typename
}
fragment SaleState on FlashSale {
  voucherId
  stock
  initialStock
  beginsAt
  endsAt
  phase
  __typename
}
fragment Refused on UserError {
  code
  message
  field
  retryAfterSeconds
  __typename
}`),a=e(`9dba0103bb13e72ca0485d9916f8b9fbdbdc0aed4b7078c554282c6a5e7b6590`,`mutation UpdateVoucher($input: UpdateVoucherInput!) {
  updateVoucher(input: $input) {
    voucher {
      ...VoucherForm
      __typename
    }
    userErrors {
      ...Refused
      __typename
    }
    __typename
  }
}
fragment VoucherForm on Voucher {
  ...MerchantVoucher
  rules
  onePerUser
  shop {
    id
    name
    __typename
  }
  __typename
}
fragment MerchantVoucher on Voucher {
  id
  title
  subTitle
  payValue
  faceValue
  status
  ... on FlashVoucher {
    sale {
      ...SaleState
      __typename
    }
    __typename
  }
  __typename
}
fragment SaleState on FlashSale {
  voucherId
  stock
  initialStock
  beginsAt
  endsAt
  phase
  __typename
}
fragment Refused on UserError {
  code
  message
  field
  retryAfterSeconds
  __typename
}`),o=e(`cc72c13d1cae42dd9d1f856c07d8bfaec963d008d9ba4ce1f553351523fd53f2`,`mutation UpdateFlashVoucher($input: UpdateFlashVoucherInput!) {
  updateFlashVoucher(input: $input) {
    voucher {
      ...VoucherForm
      __typename
    }
    userErrors {
      ...Refused
      __typename
    }
    __typename
  }
}
fragment VoucherForm on Voucher {
  ...MerchantVoucher
  rules
  onePerUser
  shop {
    id
    name
    __typename
  }
  __typename
}
fragment MerchantVoucher on Voucher {
  id
  title
  subTitle
  payValue
  faceValue
  status
  ... on FlashVoucher {
    sale {
      ...SaleState
      __typename
    }
    __typename
  }
  __typename
}
fragment SaleState on FlashSale {
  voucherId
  stock
  initialStock
  beginsAt
  endsAt
  phase
  __typename
}
fragment Refused on UserError {
  code
  message
  field
  retryAfterSeconds
  __typename
}`);export{t as a,a as i,r as n,n as o,o as r,i as t};