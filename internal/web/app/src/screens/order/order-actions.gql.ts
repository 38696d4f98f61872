// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type * as Types from '../../api/types.gql';

import { document } from '@/api/document'
export type PayBalanceQueryVariables = Exact<{ [key: string]: never; }>;


export type PayBalanceQuery = {
  readonly me: {
    readonly id: string,
    readonly balance: number | null
  } | null
};

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

export type DisputeRedemptionMutationVariables = Exact<{
  orderId: string;
}>;


export type DisputeRedemptionMutation = {
  readonly disputeRedemption: {
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

export const PayBalanceDocument = document<PayBalanceQuery, PayBalanceQueryVariables>(
  'a18a58cec961c5919084f2f3553eae9216997399625b4b838d096ebfeed453cc',
  "query PayBalance {\n  me {\n    id\n    balance\n    __typename\n  }\n}",
)

export const PayOrderDocument = document<PayOrderMutation, PayOrderMutationVariables>(
  '746e068da14d1cc3fa23ca06a699842593aa89df0c8a221e5e8cd4aacf870709',
  "mutation PayOrder($orderId: ID!, $method: PayMethod!) {\n  payOrder(orderId: $orderId, method: $method) {\n    order {\n      ...OrderState\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment OrderState on Order {\n  id\n  number\n  status\n  payValue\n  payMethod\n  failure {\n    code\n    message\n    __typename\n  }\n  createdAt\n  paidAt\n  usedAt\n  redeemedBy {\n    id\n    nickname\n    __typename\n  }\n  redemptionDisputedAt\n  cancelledAt\n  refundedAt\n  payBefore\n  __typename\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  retryAfterSeconds\n  __typename\n}",
)

export const CancelOrderDocument = document<CancelOrderMutation, CancelOrderMutationVariables>(
  'bd61407f3c2f2f50691866209dc6d011d8b9030dbc66567589aa1fb1e1fccbf1',
  "mutation CancelOrder($orderId: ID!) {\n  cancelOrder(orderId: $orderId) {\n    order {\n      ...OrderState\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment OrderState on Order {\n  id\n  number\n  status\n  payValue\n  payMethod\n  failure {\n    code\n    message\n    __typename\n  }\n  createdAt\n  paidAt\n  usedAt\n  redeemedBy {\n    id\n    nickname\n    __typename\n  }\n  redemptionDisputedAt\n  cancelledAt\n  refundedAt\n  payBefore\n  __typename\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  retryAfterSeconds\n  __typename\n}",
)

export const DisputeRedemptionDocument = document<DisputeRedemptionMutation, DisputeRedemptionMutationVariables>(
  '22139a78b95baba3e6bc8f732dab5ccc7bf07174059704fc777145d413e3ea70',
  "mutation DisputeRedemption($orderId: ID!) {\n  disputeRedemption(orderId: $orderId) {\n    order {\n      ...OrderState\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment OrderState on Order {\n  id\n  number\n  status\n  payValue\n  payMethod\n  failure {\n    code\n    message\n    __typename\n  }\n  createdAt\n  paidAt\n  usedAt\n  redeemedBy {\n    id\n    nickname\n    __typename\n  }\n  redemptionDisputedAt\n  cancelledAt\n  refundedAt\n  payBefore\n  __typename\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  retryAfterSeconds\n  __typename\n}",
)

export const RefundOrderDocument = document<RefundOrderMutation, RefundOrderMutationVariables>(
  'cd2ac2549e67a027dbf5dc763689e1ff6a25816269f6a16a66df676d8d528daf',
  "mutation RefundOrder($orderId: ID!) {\n  refundOrder(orderId: $orderId) {\n    order {\n      ...OrderState\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment OrderState on Order {\n  id\n  number\n  status\n  payValue\n  payMethod\n  failure {\n    code\n    message\n    __typename\n  }\n  createdAt\n  paidAt\n  usedAt\n  redeemedBy {\n    id\n    nickname\n    __typename\n  }\n  redemptionDisputedAt\n  cancelledAt\n  refundedAt\n  payBefore\n  __typename\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  retryAfterSeconds\n  __typename\n}",
)
