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
      readonly redemptionDisputedAt: string | null,
      readonly cancelledAt: string | null,
      readonly refundedAt: string | null,
      readonly payBefore: string | null,
      readonly failure: {
        readonly code: Types.ErrorCode,
        readonly message: string
      } | null,
      readonly redeemedBy: {
        readonly id: string,
        readonly nickname: string
      } | null
    } | null,
    readonly userErrors: ReadonlyArray<{
      readonly code: Types.ErrorCode,
      readonly message: string,
      readonly field: ReadonlyArray<string> | null,
      readonly retryAfterSeconds: number | null
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
  '803b2cb6e737be661c098f1a8bab33ad671e529466b6cc5729cf58d9153caa93',
  "mutation OrderVoucher($voucherId: ID!, $idempotencyKey: String!) {\n  orderVoucher(voucherId: $voucherId, idempotencyKey: $idempotencyKey) {\n    order {\n      ...OrderState\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment OrderState on Order {\n  id\n  number\n  status\n  payValue\n  payMethod\n  failure {\n    code\n    message\n    __typename\n  }\n  createdAt\n  paidAt\n  usedAt\n  redeemedBy {\n    id\n    nickname\n    __typename\n  }\n  redemptionDisputedAt\n  cancelledAt\n  refundedAt\n  payBefore\n  __typename\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  retryAfterSeconds\n  __typename\n}",
)

export const LiveOrdersDocument = document<LiveOrdersQuery, LiveOrdersQueryVariables>(
  'f019479d2dd23d004b8ea247d902b1e1d309e7967b07816f08617d0800de89ff',
  "query LiveOrders {\n  me {\n    id\n    orders(status: [QUEUED, UNPAID, PAID, USED, REFUNDING], first: 100) {\n      edges {\n        node {\n          id\n          status\n          voucher {\n            id\n            __typename\n          }\n          __typename\n        }\n        __typename\n      }\n      __typename\n    }\n    __typename\n  }\n}",
)
