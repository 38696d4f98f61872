// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type * as Types from '../api/types.gql';

import { document } from '@/api/document'
export type OrderVoucherMutationVariables = Exact<{
  voucherId: string;
  idempotencyKey: string;
}>;


export type OrderVoucherMutation = {
  readonly orderVoucher: {
    readonly order: {
      readonly id: string,
      readonly number: string,
      readonly status: Types.OrderStatus,
      readonly payValue: number,
      readonly payMethod: Types.PayMethod | null,
      readonly createdAt: string,
      readonly paidAt: string | null,
      readonly usedAt: string | null,
      readonly cancelledAt: string | null,
      readonly refundedAt: string | null,
      readonly payBefore: string | null,
      readonly voucher:
        | {
          readonly id: string,
          readonly title: string,
          readonly kind: 'OrdinaryVoucher',
          readonly shop: {
            readonly id: string,
            readonly name: string,
            readonly images: ReadonlyArray<{
              readonly thumbnailUrl: string
            }>
          }
        }
        | {
          readonly id: string,
          readonly title: string,
          readonly kind: 'FlashVoucher',
          readonly shop: {
            readonly id: string,
            readonly name: string,
            readonly images: ReadonlyArray<{
              readonly thumbnailUrl: string
            }>
          }
        }
      ,
      readonly failure: {
        readonly code: Types.ErrorCode,
        readonly message: string
      } | null
    } | null,
    readonly userErrors: ReadonlyArray<{
      readonly code: Types.ErrorCode,
      readonly message: string,
      readonly field: ReadonlyArray<string> | null
    }>
  }
};

export type LiveOrdersQueryVariables = Exact<{ [key: string]: never; }>;


export type LiveOrdersQuery = {
  readonly me: {
    readonly id: string,
    readonly orders: {
      readonly edges: ReadonlyArray<{
        readonly node: {
          readonly id: string,
          readonly status: Types.OrderStatus,
          readonly voucher:
            | {
              readonly id: string
            }
            | {
              readonly id: string
            }

        }
      }>
    } | null
  } | null
};

export const OrderVoucherDocument = document<OrderVoucherMutation, OrderVoucherMutationVariables>(
  'd2be25f9590c3ba45fe087c1f330653b29ecda11d65410584aebd22034c529de',
  "mutation OrderVoucher($voucherId: ID!, $idempotencyKey: String!) {\n  orderVoucher(voucherId: $voucherId, idempotencyKey: $idempotencyKey) {\n    order {\n      ...OrderCard\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment OrderCard on Order {\n  ...OrderState\n  voucher {\n    kind: __typename\n    id\n    title\n    shop {\n      id\n      name\n      images {\n        thumbnailUrl\n        __typename\n      }\n      __typename\n    }\n    __typename\n  }\n  __typename\n}\nfragment OrderState on Order {\n  id\n  number\n  status\n  payValue\n  payMethod\n  failure {\n    code\n    message\n    __typename\n  }\n  createdAt\n  paidAt\n  usedAt\n  cancelledAt\n  refundedAt\n  payBefore\n  __typename\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  __typename\n}",
)

export const LiveOrdersDocument = document<LiveOrdersQuery, LiveOrdersQueryVariables>(
  'f019479d2dd23d004b8ea247d902b1e1d309e7967b07816f08617d0800de89ff',
  "query LiveOrders {\n  me {\n    id\n    orders(status: [QUEUED, UNPAID, PAID, USED, REFUNDING], first: 100) {\n      edges {\n        node {\n          id\n          status\n          voucher {\n            id\n            __typename\n          }\n          __typename\n        }\n        __typename\n      }\n      __typename\n    }\n    __typename\n  }\n}",
)
