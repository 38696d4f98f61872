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
}`),r=e(`6eeab0c2d27189408d7dedda41266b94122705128c013913d6e64c4b540b29d5`,`mutation CreateVoucher($input: CreateVoucherInput!) {
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
  __typename
}`),i=e(`2a90353ff8d35ba1b64ee2cc944bbf545c5b7ef04549c9e7d249de4b1747c752`,`mutation CreateFlashVoucher($input: CreateFlashVoucherInput!) {
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
  __typename
}`),a=e(`83ebec8a775e303402d9f698a0567ca923dbfb610712108fc732627cdab9ed1d`,`mutation UpdateVoucher($input: UpdateVoucherInput!) {
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
  __typename
}`),o=e(`474da2fe554d638335b531aadd7c21442b97b51a5b29f42cb30a70548d88fc06`,`mutation UpdateFlashVoucher($input: UpdateFlashVoucherInput!) {
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
  __typename
}`);export{t as a,a as i,r as n,n as o,o as r,i as t};