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
      readonly field: ReadonlyArray<string> | null,
      readonly retryAfterSeconds: number | null
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
      readonly field: ReadonlyArray<string> | null,
      readonly retryAfterSeconds: number | null
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
      readonly field: ReadonlyArray<string> | null,
      readonly retryAfterSeconds: number | null
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
      readonly field: ReadonlyArray<string> | null,
      readonly retryAfterSeconds: number | null
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
  'b0e21783aedd1b0d8e00738e689a949e334ebedb79b9ff4c1a3f3af974f22912',
  "mutation CreateVoucher($input: CreateVoucherInput!) {\n  createVoucher(input: $input) {\n    voucher {\n      ...VoucherForm\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment VoucherForm on Voucher {\n  ...MerchantVoucher\n  rules\n  onePerUser\n  shop {\n    id\n    name\n    __typename\n  }\n  __typename\n}\nfragment MerchantVoucher on Voucher {\n  id\n  title\n  subTitle\n  payValue\n  faceValue\n  status\n  ... on FlashVoucher {\n    sale {\n      ...SaleState\n      __typename\n    }\n    __typename\n  }\n  __typename\n}\nfragment SaleState on FlashSale {\n  voucherId\n  stock\n  initialStock\n  beginsAt\n  endsAt\n  phase\n  __typename\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  retryAfterSeconds\n  __typename\n}",
)

export const CreateFlashVoucherDocument = document<CreateFlashVoucherMutation, CreateFlashVoucherMutationVariables>(
  'f165d516d8dcd4ee194d66d010c0e4b95880b5772a691b4e5a37003a3d390a33',
  "mutation CreateFlashVoucher($input: CreateFlashVoucherInput!) {\n  createFlashVoucher(input: $input) {\n    voucher {\n      ...VoucherForm\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment VoucherForm on Voucher {\n  ...MerchantVoucher\n  rules\n  onePerUser\n  shop {\n    id\n    name\n    __typename\n  }\n  __typename\n}\nfragment MerchantVoucher on Voucher {\n  id\n  title\n  subTitle\n  payValue\n  faceValue\n  status\n  ... on FlashVoucher {\n    sale {\n      ...SaleState\n      __typename\n    }\n    __typename\n  }\n  __typename\n}\nfragment SaleState on FlashSale {\n  voucherId\n  stock\n  initialStock\n  beginsAt\n  endsAt\n  phase\n  __typename\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  retryAfterSeconds\n  __typename\n}",
)

export const UpdateVoucherDocument = document<UpdateVoucherMutation, UpdateVoucherMutationVariables>(
  '9dba0103bb13e72ca0485d9916f8b9fbdbdc0aed4b7078c554282c6a5e7b6590',
  "mutation UpdateVoucher($input: UpdateVoucherInput!) {\n  updateVoucher(input: $input) {\n    voucher {\n      ...VoucherForm\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment VoucherForm on Voucher {\n  ...MerchantVoucher\n  rules\n  onePerUser\n  shop {\n    id\n    name\n    __typename\n  }\n  __typename\n}\nfragment MerchantVoucher on Voucher {\n  id\n  title\n  subTitle\n  payValue\n  faceValue\n  status\n  ... on FlashVoucher {\n    sale {\n      ...SaleState\n      __typename\n    }\n    __typename\n  }\n  __typename\n}\nfragment SaleState on FlashSale {\n  voucherId\n  stock\n  initialStock\n  beginsAt\n  endsAt\n  phase\n  __typename\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  retryAfterSeconds\n  __typename\n}",
)

export const UpdateFlashVoucherDocument = document<UpdateFlashVoucherMutation, UpdateFlashVoucherMutationVariables>(
  'cc72c13d1cae42dd9d1f856c07d8bfaec963d008d9ba4ce1f553351523fd53f2',
  "mutation UpdateFlashVoucher($input: UpdateFlashVoucherInput!) {\n  updateFlashVoucher(input: $input) {\n    voucher {\n      ...VoucherForm\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment VoucherForm on Voucher {\n  ...MerchantVoucher\n  rules\n  onePerUser\n  shop {\n    id\n    name\n    __typename\n  }\n  __typename\n}\nfragment MerchantVoucher on Voucher {\n  id\n  title\n  subTitle\n  payValue\n  faceValue\n  status\n  ... on FlashVoucher {\n    sale {\n      ...SaleState\n      __typename\n    }\n    __typename\n  }\n  __typename\n}\nfragment SaleState on FlashSale {\n  voucherId\n  stock\n  initialStock\n  beginsAt\n  endsAt\n  phase\n  __typename\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  retryAfterSeconds\n  __typename\n}",
)
