// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type * as Types from '../../api/types.gql';

import { document } from '@/api/document'
export type PayOrderMutationVariables = Exact<{
  orderId: string;
  method: Types.PayMethod;
}>;


export type PayOrderMutation = {
  readonly payOrder: {
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

export type CancelOrderMutationVariables = Exact<{
  orderId: string;
}>;


export type CancelOrderMutation = {
  readonly cancelOrder: {
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

export type RefundOrderMutationVariables = Exact<{
  orderId: string;
}>;


export type RefundOrderMutation = {
  readonly refundOrder: {
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

export const PayOrderDocument = document<PayOrderMutation, PayOrderMutationVariables>(
  'c86e2089f0f31c7acdb8dfb35389f4762280de8daa11c0d05786b489d0b2fcea',
  "mutation PayOrder($orderId: ID!, $method: PayMethod!) {\n  payOrder(orderId: $orderId, method: $method) {\n    order {\n      ...OrderState\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment OrderState on Order {\n  id\n  number\n  status\n  payValue\n  payMethod\n  failure {\n    code\n    message\n    __typename\n  }\n  createdAt\n  paidAt\n  usedAt\n  cancelledAt\n  refundedAt\n  payBefore\n  __typename\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  __typename\n}",
)

export const CancelOrderDocument = document<CancelOrderMutation, CancelOrderMutationVariables>(
  '6c50fad2c1165ecda6b959a274a507ada34f5e3f87e0e9a46f53e035edfd6708',
  "mutation CancelOrder($orderId: ID!) {\n  cancelOrder(orderId: $orderId) {\n    order {\n      ...OrderState\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment OrderState on Order {\n  id\n  number\n  status\n  payValue\n  payMethod\n  failure {\n    code\n    message\n    __typename\n  }\n  createdAt\n  paidAt\n  usedAt\n  cancelledAt\n  refundedAt\n  payBefore\n  __typename\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  __typename\n}",
)

export const RefundOrderDocument = document<RefundOrderMutation, RefundOrderMutationVariables>(
  'd9da196345f8e3f4d763a7bd5fe6eb7978cdbe3e5bdc965168590d2eca82266a',
  "mutation RefundOrder($orderId: ID!) {\n  refundOrder(orderId: $orderId) {\n    order {\n      ...OrderState\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment OrderState on Order {\n  id\n  number\n  status\n  payValue\n  payMethod\n  failure {\n    code\n    message\n    __typename\n  }\n  createdAt\n  paidAt\n  usedAt\n  cancelledAt\n  refundedAt\n  payBefore\n  __typename\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  __typename\n}",
)
