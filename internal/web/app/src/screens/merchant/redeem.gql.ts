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
    readonly redemptionDisputedAt: string | null,
    readonly terms: {
      readonly subTitle: string | null,
      readonly rules: string | null,
      readonly faceValue: number,
      readonly title: string
    },
    readonly voucher:
      | {
        readonly id: string,
        readonly shop: {
          readonly id: string,
          readonly name: string
        }
      }
      | {
        readonly id: string,
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
  readonly redemptionDisputedAt: string | null,
  readonly terms: {
    readonly subTitle: string | null,
    readonly rules: string | null,
    readonly faceValue: number,
    readonly title: string
  },
  readonly voucher:
    | {
      readonly id: string,
      readonly shop: {
        readonly id: string,
        readonly name: string
      }
    }
    | {
      readonly id: string,
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
      readonly redemptionDisputedAt: string | null,
      readonly terms: {
        readonly subTitle: string | null,
        readonly rules: string | null,
        readonly faceValue: number,
        readonly title: string
      },
      readonly voucher:
        | {
          readonly id: string,
          readonly shop: {
            readonly id: string,
            readonly name: string
          }
        }
        | {
          readonly id: string,
          readonly shop: {
            readonly id: string,
            readonly name: string
          }
        }

    } | null,
    readonly userErrors: ReadonlyArray<{
      readonly code: Types.ErrorCode,
      readonly message: string,
      readonly field: ReadonlyArray<string> | null,
      readonly retryAfterSeconds: number | null
    }>
  }
};

export const RedeemableOrderDocument = document<RedeemableOrderQuery, RedeemableOrderQueryVariables>(
  '9742747f0a676d92c43d15c008fb033e7f6ad8fc8962fb66c9bd900bf4715f2a',
  "query RedeemableOrder($number: String!) {\n  orderByNumber(number: $number) {\n    ...RedeemableOrder\n    __typename\n  }\n}\nfragment RedeemableOrder on Order {\n  ...MerchantOrder\n  cancelledAt\n  refundedAt\n  terms {\n    subTitle\n    rules\n    faceValue\n    __typename\n  }\n  voucher {\n    id\n    shop {\n      id\n      name\n      __typename\n    }\n    __typename\n  }\n  __typename\n}\nfragment MerchantOrder on Order {\n  id\n  number\n  status\n  payValue\n  createdAt\n  paidAt\n  usedAt\n  redemptionDisputedAt\n  terms {\n    title\n    __typename\n  }\n  __typename\n}",
)

export const RedeemOrderDocument = document<RedeemOrderMutation, RedeemOrderMutationVariables>(
  '5d4e7ff2b2ec0ab9dafb34002c6ab554598ec591f00e378006618860bc3c1b7b',
  "mutation RedeemOrder($id: ID!) {\n  redeemOrder(orderId: $id) {\n    order {\n      ...RedeemableOrder\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment RedeemableOrder on Order {\n  ...MerchantOrder\n  cancelledAt\n  refundedAt\n  terms {\n    subTitle\n    rules\n    faceValue\n    __typename\n  }\n  voucher {\n    id\n    shop {\n      id\n      name\n      __typename\n    }\n    __typename\n  }\n  __typename\n}\nfragment MerchantOrder on Order {\n  id\n  number\n  status\n  payValue\n  createdAt\n  paidAt\n  usedAt\n  redemptionDisputedAt\n  terms {\n    title\n    __typename\n  }\n  __typename\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  retryAfterSeconds\n  __typename\n}",
)
