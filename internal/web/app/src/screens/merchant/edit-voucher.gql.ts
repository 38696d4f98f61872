// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type * as Types from '../../api/types.gql';

import { document } from '@/api/document'
export type VoucherForm_OrdinaryVoucher_Fragment = {
  readonly rules: string | null,
  readonly onePerUser: boolean,
  readonly id: string,
  readonly title: string,
  readonly subTitle: string | null,
  readonly payValue: number,
  readonly faceValue: number,
  readonly status: Types.VoucherStatus,
  readonly shop: {
    readonly id: string,
    readonly name: string
  }
};

export type VoucherForm_FlashVoucher_Fragment = {
  readonly rules: string | null,
  readonly onePerUser: boolean,
  readonly id: string,
  readonly title: string,
  readonly subTitle: string | null,
  readonly payValue: number,
  readonly faceValue: number,
  readonly status: Types.VoucherStatus,
  readonly shop: {
    readonly id: string,
    readonly name: string
  },
  readonly sale: {
    readonly voucherId: string,
    readonly stock: number,
    readonly initialStock: number,
    readonly beginsAt: string,
    readonly endsAt: string,
    readonly phase: Types.SalePhase
  }
};

export type VoucherFormFragment =
  | VoucherForm_OrdinaryVoucher_Fragment
  | VoucherForm_FlashVoucher_Fragment
;

export type VoucherFormQueryVariables = Exact<{
  id: string;
}>;


export type VoucherFormQuery = {
  readonly voucher:
    | {
      readonly rules: string | null,
      readonly onePerUser: boolean,
      readonly id: string,
      readonly title: string,
      readonly subTitle: string | null,
      readonly payValue: number,
      readonly faceValue: number,
      readonly status: Types.VoucherStatus,
      readonly shop: {
        readonly id: string,
        readonly name: string
      }
    }
    | {
      readonly rules: string | null,
      readonly onePerUser: boolean,
      readonly id: string,
      readonly title: string,
      readonly subTitle: string | null,
      readonly payValue: number,
      readonly faceValue: number,
      readonly status: Types.VoucherStatus,
      readonly shop: {
        readonly id: string,
        readonly name: string
      },
      readonly sale: {
        readonly voucherId: string,
        readonly stock: number,
        readonly initialStock: number,
        readonly beginsAt: string,
        readonly endsAt: string,
        readonly phase: Types.SalePhase
      }
    }
   | null
};

export type VoucherFormShopQueryVariables = Exact<{
  id: string;
}>;


export type VoucherFormShopQuery = {
  readonly shop: {
    readonly id: string,
    readonly name: string
  } | null
};

export type CreateVoucherMutationVariables = Exact<{
  input: Types.CreateVoucherInput;
}>;


export type CreateVoucherMutation = {
  readonly createVoucher: {
    readonly voucher:
      | {
        readonly rules: string | null,
        readonly onePerUser: boolean,
        readonly id: string,
        readonly title: string,
        readonly subTitle: string | null,
        readonly payValue: number,
        readonly faceValue: number,
        readonly status: Types.VoucherStatus,
        readonly shop: {
          readonly id: string,
          readonly name: string
        }
      }
      | {
        readonly rules: string | null,
        readonly onePerUser: boolean,
        readonly id: string,
        readonly title: string,
        readonly subTitle: string | null,
        readonly payValue: number,
        readonly faceValue: number,
        readonly status: Types.VoucherStatus,
        readonly shop: {
          readonly id: string,
          readonly name: string
        },
        readonly sale: {
          readonly voucherId: string,
          readonly stock: number,
          readonly initialStock: number,
          readonly beginsAt: string,
          readonly endsAt: string,
          readonly phase: Types.SalePhase
        }
      }
     | null,
    readonly userErrors: ReadonlyArray<{
      readonly code: Types.ErrorCode,
      readonly message: string,
      readonly field: ReadonlyArray<string> | null
    }>
  }
};

export type CreateFlashVoucherMutationVariables = Exact<{
  input: Types.CreateFlashVoucherInput;
}>;


export type CreateFlashVoucherMutation = {
  readonly createFlashVoucher: {
    readonly voucher:
      | {
        readonly rules: string | null,
        readonly onePerUser: boolean,
        readonly id: string,
        readonly title: string,
        readonly subTitle: string | null,
        readonly payValue: number,
        readonly faceValue: number,
        readonly status: Types.VoucherStatus,
        readonly shop: {
          readonly id: string,
          readonly name: string
        }
      }
      | {
        readonly rules: string | null,
        readonly onePerUser: boolean,
        readonly id: string,
        readonly title: string,
        readonly subTitle: string | null,
        readonly payValue: number,
        readonly faceValue: number,
        readonly status: Types.VoucherStatus,
        readonly shop: {
          readonly id: string,
          readonly name: string
        },
        readonly sale: {
          readonly voucherId: string,
          readonly stock: number,
          readonly initialStock: number,
          readonly beginsAt: string,
          readonly endsAt: string,
          readonly phase: Types.SalePhase
        }
      }
     | null,
    readonly userErrors: ReadonlyArray<{
      readonly code: Types.ErrorCode,
      readonly message: string,
      readonly field: ReadonlyArray<string> | null
    }>
  }
};

export type UpdateVoucherMutationVariables = Exact<{
  input: Types.UpdateVoucherInput;
}>;


export type UpdateVoucherMutation = {
  readonly updateVoucher: {
    readonly voucher:
      | {
        readonly rules: string | null,
        readonly onePerUser: boolean,
        readonly id: string,
        readonly title: string,
        readonly subTitle: string | null,
        readonly payValue: number,
        readonly faceValue: number,
        readonly status: Types.VoucherStatus,
        readonly shop: {
          readonly id: string,
          readonly name: string
        }
      }
      | {
        readonly rules: string | null,
        readonly onePerUser: boolean,
        readonly id: string,
        readonly title: string,
        readonly subTitle: string | null,
        readonly payValue: number,
        readonly faceValue: number,
        readonly status: Types.VoucherStatus,
        readonly shop: {
          readonly id: string,
          readonly name: string
        },
        readonly sale: {
          readonly voucherId: string,
          readonly stock: number,
          readonly initialStock: number,
          readonly beginsAt: string,
          readonly endsAt: string,
          readonly phase: Types.SalePhase
        }
      }
     | null,
    readonly userErrors: ReadonlyArray<{
      readonly code: Types.ErrorCode,
      readonly message: string,
      readonly field: ReadonlyArray<string> | null
    }>
  }
};

export type UpdateFlashVoucherMutationVariables = Exact<{
  input: Types.UpdateFlashVoucherInput;
}>;


export type UpdateFlashVoucherMutation = {
  readonly updateFlashVoucher: {
    readonly voucher:
      | {
        readonly rules: string | null,
        readonly onePerUser: boolean,
        readonly id: string,
        readonly title: string,
        readonly subTitle: string | null,
        readonly payValue: number,
        readonly faceValue: number,
        readonly status: Types.VoucherStatus,
        readonly shop: {
          readonly id: string,
          readonly name: string
        }
      }
      | {
        readonly rules: string | null,
        readonly onePerUser: boolean,
        readonly id: string,
        readonly title: string,
        readonly subTitle: string | null,
        readonly payValue: number,
        readonly faceValue: number,
        readonly status: Types.VoucherStatus,
        readonly shop: {
          readonly id: string,
          readonly name: string
        },
        readonly sale: {
          readonly voucherId: string,
          readonly stock: number,
          readonly initialStock: number,
          readonly beginsAt: string,
          readonly endsAt: string,
          readonly phase: Types.SalePhase
        }
      }
     | null,
    readonly userErrors: ReadonlyArray<{
      readonly code: Types.ErrorCode,
      readonly message: string,
      readonly field: ReadonlyArray<string> | null
    }>
  }
};

export const VoucherFormDocument = document<VoucherFormQuery, VoucherFormQueryVariables>(
  '0f26c6175a75abd2c4c6b96d6afd0f99858c0da3bdf4995f280a6be2ced494de',
  "query VoucherForm($id: ID!) {\n  voucher(id: $id) {\n    ...VoucherForm\n    __typename\n  }\n}\nfragment VoucherForm on Voucher {\n  ...MerchantVoucher\n  rules\n  onePerUser\n  shop {\n    id\n    name\n    __typename\n  }\n  __typename\n}\nfragment MerchantVoucher on Voucher {\n  id\n  title\n  subTitle\n  payValue\n  faceValue\n  status\n  ... on FlashVoucher {\n    sale {\n      ...SaleState\n      __typename\n    }\n    __typename\n  }\n  __typename\n}\nfragment SaleState on FlashSale {\n  voucherId\n  stock\n  initialStock\n  beginsAt\n  endsAt\n  phase\n  __typename\n}",
)

export const VoucherFormShopDocument = document<VoucherFormShopQuery, VoucherFormShopQueryVariables>(
  '28588145f83dba4f90eef2dc27ad64882af8f8263346f4b67e522915815667b0',
  "query VoucherFormShop($id: ID!) {\n  shop(id: $id) {\n    id\n    name\n    __typename\n  }\n}",
)

export const CreateVoucherDocument = document<CreateVoucherMutation, CreateVoucherMutationVariables>(
  '6eeab0c2d27189408d7dedda41266b94122705128c013913d6e64c4b540b29d5',
  "mutation CreateVoucher($input: CreateVoucherInput!) {\n  createVoucher(input: $input) {\n    voucher {\n      ...VoucherForm\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment VoucherForm on Voucher {\n  ...MerchantVoucher\n  rules\n  onePerUser\n  shop {\n    id\n    name\n    __typename\n  }\n  __typename\n}\nfragment MerchantVoucher on Voucher {\n  id\n  title\n  subTitle\n  payValue\n  faceValue\n  status\n  ... on FlashVoucher {\n    sale {\n      ...SaleState\n      __typename\n    }\n    __typename\n  }\n  __typename\n}\nfragment SaleState on FlashSale {\n  voucherId\n  stock\n  initialStock\n  beginsAt\n  endsAt\n  phase\n  __typename\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  __typename\n}",
)

export const CreateFlashVoucherDocument = document<CreateFlashVoucherMutation, CreateFlashVoucherMutationVariables>(
  '2a90353ff8d35ba1b64ee2cc944bbf545c5b7ef04549c9e7d249de4b1747c752',
  "mutation CreateFlashVoucher($input: CreateFlashVoucherInput!) {\n  createFlashVoucher(input: $input) {\n    voucher {\n      ...VoucherForm\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment VoucherForm on Voucher {\n  ...MerchantVoucher\n  rules\n  onePerUser\n  shop {\n    id\n    name\n    __typename\n  }\n  __typename\n}\nfragment MerchantVoucher on Voucher {\n  id\n  title\n  subTitle\n  payValue\n  faceValue\n  status\n  ... on FlashVoucher {\n    sale {\n      ...SaleState\n      __typename\n    }\n    __typename\n  }\n  __typename\n}\nfragment SaleState on FlashSale {\n  voucherId\n  stock\n  initialStock\n  beginsAt\n  endsAt\n  phase\n  __typename\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  __typename\n}",
)

export const UpdateVoucherDocument = document<UpdateVoucherMutation, UpdateVoucherMutationVariables>(
  '83ebec8a775e303402d9f698a0567ca923dbfb610712108fc732627cdab9ed1d',
  "mutation UpdateVoucher($input: UpdateVoucherInput!) {\n  updateVoucher(input: $input) {\n    voucher {\n      ...VoucherForm\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment VoucherForm on Voucher {\n  ...MerchantVoucher\n  rules\n  onePerUser\n  shop {\n    id\n    name\n    __typename\n  }\n  __typename\n}\nfragment MerchantVoucher on Voucher {\n  id\n  title\n  subTitle\n  payValue\n  faceValue\n  status\n  ... on FlashVoucher {\n    sale {\n      ...SaleState\n      __typename\n    }\n    __typename\n  }\n  __typename\n}\nfragment SaleState on FlashSale {\n  voucherId\n  stock\n  initialStock\n  beginsAt\n  endsAt\n  phase\n  __typename\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  __typename\n}",
)

export const UpdateFlashVoucherDocument = document<UpdateFlashVoucherMutation, UpdateFlashVoucherMutationVariables>(
  '474da2fe554d638335b531aadd7c21442b97b51a5b29f42cb30a70548d88fc06',
  "mutation UpdateFlashVoucher($input: UpdateFlashVoucherInput!) {\n  updateFlashVoucher(input: $input) {\n    voucher {\n      ...VoucherForm\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment VoucherForm on Voucher {\n  ...MerchantVoucher\n  rules\n  onePerUser\n  shop {\n    id\n    name\n    __typename\n  }\n  __typename\n}\nfragment MerchantVoucher on Voucher {\n  id\n  title\n  subTitle\n  payValue\n  faceValue\n  status\n  ... on FlashVoucher {\n    sale {\n      ...SaleState\n      __typename\n    }\n    __typename\n  }\n  __typename\n}\nfragment SaleState on FlashSale {\n  voucherId\n  stock\n  initialStock\n  beginsAt\n  endsAt\n  phase\n  __typename\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  __typename\n}",
)
