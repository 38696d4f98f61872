// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type * as Types from '../../api/types.gql';

import { document } from '@/api/document'
export type RedeemableOrderQueryVariables = Exact<{
  number: string;
}>;


export type RedeemableOrderQuery = {
  readonly orderByNumber: {
    readonly cancelledAt: string | null,
    readonly refundedAt: string | null,
    readonly id: string,
    readonly number: string,
    readonly status: Types.OrderStatus,
    readonly payValue: number,
    readonly createdAt: string,
    readonly paidAt: string | null,
    readonly usedAt: string | null,
    readonly voucher:
      | {
        readonly id: string,
        readonly subTitle: string | null,
        readonly rules: string | null,
        readonly faceValue: number,
        readonly title: string,
        readonly shop: {
          readonly id: string,
          readonly name: string
        }
      }
      | {
        readonly id: string,
        readonly subTitle: string | null,
        readonly rules: string | null,
        readonly faceValue: number,
        readonly title: string,
        readonly shop: {
          readonly id: string,
          readonly name: string
        }
      }

  } | null
};

export type RedeemableOrderFragment = {
  readonly cancelledAt: string | null,
  readonly refundedAt: string | null,
  readonly id: string,
  readonly number: string,
  readonly status: Types.OrderStatus,
  readonly payValue: number,
  readonly createdAt: string,
  readonly paidAt: string | null,
  readonly usedAt: string | null,
  readonly voucher:
    | {
      readonly id: string,
      readonly subTitle: string | null,
      readonly rules: string | null,
      readonly faceValue: number,
      readonly title: string,
      readonly shop: {
        readonly id: string,
        readonly name: string
      }
    }
    | {
      readonly id: string,
      readonly subTitle: string | null,
      readonly rules: string | null,
      readonly faceValue: number,
      readonly title: string,
      readonly shop: {
        readonly id: string,
        readonly name: string
      }
    }

};

export type RedeemOrderMutationVariables = Exact<{
  id: string;
}>;


export type RedeemOrderMutation = {
  readonly redeemOrder: {
    readonly order: {
      readonly cancelledAt: string | null,
      readonly refundedAt: string | null,
      readonly id: string,
      readonly number: string,
      readonly status: Types.OrderStatus,
      readonly payValue: number,
      readonly createdAt: string,
      readonly paidAt: string | null,
      readonly usedAt: string | null,
      readonly voucher:
        | {
          readonly id: string,
          readonly subTitle: string | null,
          readonly rules: string | null,
          readonly faceValue: number,
          readonly title: string,
          readonly shop: {
            readonly id: string,
            readonly name: string
          }
        }
        | {
          readonly id: string,
          readonly subTitle: string | null,
          readonly rules: string | null,
          readonly faceValue: number,
          readonly title: string,
          readonly shop: {
            readonly id: string,
            readonly name: string
          }
        }

    } | null,
    readonly userErrors: ReadonlyArray<{
      readonly code: Types.ErrorCode,
      readonly message: string,
      readonly field: ReadonlyArray<string> | null
    }>
  }
};

export const RedeemableOrderDocument = document<RedeemableOrderQuery, RedeemableOrderQueryVariables>(
  '56b60f081205ebaf576860eb9de06d125ca70f832424263c7871ab33d1dca5c9',
  "query RedeemableOrder($number: String!) {\n  orderByNumber(number: $number) {\n    ...RedeemableOrder\n    __typename\n  }\n}\nfragment RedeemableOrder on Order {\n  ...MerchantOrder\n  cancelledAt\n  refundedAt\n  voucher {\n    id\n    subTitle\n    rules\n    faceValue\n    shop {\n      id\n      name\n      __typename\n    }\n    __typename\n  }\n  __typename\n}\nfragment MerchantOrder on Order {\n  id\n  number\n  status\n  payValue\n  createdAt\n  paidAt\n  usedAt\n  voucher {\n    id\n    title\n    __typename\n  }\n  __typename\n}",
)

export const RedeemOrderDocument = document<RedeemOrderMutation, RedeemOrderMutationVariables>(
  '515174542b6ecaf18f957c69f4edc247596adb901fdf0251737a4d66db4c0a14',
  "mutation RedeemOrder($id: ID!) {\n  redeemOrder(orderId: $id) {\n    order {\n      ...RedeemableOrder\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment RedeemableOrder on Order {\n  ...MerchantOrder\n  cancelledAt\n  refundedAt\n  voucher {\n    id\n    subTitle\n    rules\n    faceValue\n    shop {\n      id\n      name\n      __typename\n    }\n    __typename\n  }\n  __typename\n}\nfragment MerchantOrder on Order {\n  id\n  number\n  status\n  payValue\n  createdAt\n  paidAt\n  usedAt\n  voucher {\n    id\n    title\n    __typename\n  }\n  __typename\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  __typename\n}",
)
