// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type * as Types from '../api/types.gql';

import { document } from '@/api/document'
export type OrderStateFragment = {
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
};

export type OrderCardFragment = {
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
  readonly terms: {
    readonly title: string
  },
  readonly voucher:
    | {
      readonly id: string,
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
  } | null,
  readonly redeemedBy: {
    readonly id: string,
    readonly nickname: string
  } | null
};

export type OrderQueryVariables = Exact<{
  id: string;
}>;


export type OrderQuery = {
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
    readonly terms: {
      readonly title: string,
      readonly subTitle: string | null,
      readonly rules: string | null,
      readonly faceValue: number
    },
    readonly voucher:
      | {
        readonly id: string,
        readonly title: string,
        readonly subTitle: string | null,
        readonly rules: string | null,
        readonly payValue: number,
        readonly faceValue: number,
        readonly status: Types.VoucherStatus,
        readonly onePerUser: boolean,
        readonly kind: 'OrdinaryVoucher',
        readonly shop: {
          readonly id: string,
          readonly name: string,
          readonly address: string,
          readonly images: ReadonlyArray<{
            readonly thumbnailUrl: string
          }>
        }
      }
      | {
        readonly id: string,
        readonly title: string,
        readonly subTitle: string | null,
        readonly rules: string | null,
        readonly payValue: number,
        readonly faceValue: number,
        readonly status: Types.VoucherStatus,
        readonly onePerUser: boolean,
        readonly kind: 'FlashVoucher',
        readonly shop: {
          readonly id: string,
          readonly name: string,
          readonly address: string,
          readonly images: ReadonlyArray<{
            readonly thumbnailUrl: string
          }>
        }
      }
    ,
    readonly failure: {
      readonly code: Types.ErrorCode,
      readonly message: string
    } | null,
    readonly redeemedBy: {
      readonly id: string,
      readonly nickname: string
    } | null
  } | null
};

export type OrderUpdatesSubscriptionVariables = Exact<{
  orderId?: string | null | undefined;
}>;


export type OrderUpdatesSubscription = {
  readonly orderUpdates: {
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
  }
};

export const OrderDocument = document<OrderQuery, OrderQueryVariables>(
  'fa8b7890f4beaca355952588aed91a137c1c9261a4ff115dab59e4b5974f30a4',
  "query Order($id: ID!) {\n  order(id: $id) {\n    ...OrderState\n    terms {\n      title\n      subTitle\n      rules\n      faceValue\n      __typename\n    }\n    voucher {\n      ...VoucherFacts\n      __typename\n    }\n    __typename\n  }\n}\nfragment OrderState on Order {\n  id\n  number\n  status\n  payValue\n  payMethod\n  failure {\n    code\n    message\n    __typename\n  }\n  createdAt\n  paidAt\n  usedAt\n  redeemedBy {\n    id\n    nickname\n    __typename\n  }\n  redemptionDisputedAt\n  cancelledAt\n  refundedAt\n  payBefore\n  __typename\n}\nfragment VoucherFacts on Voucher {\n  kind: __typename\n  id\n  title\n  subTitle\n  rules\n  payValue\n  faceValue\n  status\n  onePerUser\n  shop {\n    id\n    name\n    address\n    images {\n      thumbnailUrl\n      __typename\n    }\n    __typename\n  }\n  __typename\n}",
)

export const OrderUpdatesDocument = document<OrderUpdatesSubscription, OrderUpdatesSubscriptionVariables>(
  '04b2010aa56bd989f45d3f9d4b2c10b12a255031089609ad1168db378fc057d8',
  "subscription OrderUpdates($orderId: ID) {\n  orderUpdates(orderId: $orderId) {\n    ...OrderState\n    __typename\n  }\n}\nfragment OrderState on Order {\n  id\n  number\n  status\n  payValue\n  payMethod\n  failure {\n    code\n    message\n    __typename\n  }\n  createdAt\n  paidAt\n  usedAt\n  redeemedBy {\n    id\n    nickname\n    __typename\n  }\n  redemptionDisputedAt\n  cancelledAt\n  refundedAt\n  payBefore\n  __typename\n}",
)
