// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type * as Types from '../../api/types.gql';

import { document } from '@/api/document'
export type OrdersQueryVariables = Exact<{
  status?: ReadonlyArray<Types.OrderStatus> | Types.OrderStatus | null | undefined;
  after?: string | null | undefined;
}>;


export type OrdersQuery = {
  readonly me: {
    readonly id: string,
    readonly orders: {
      readonly edges: ReadonlyArray<{
        readonly node: {
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
        }
      }>,
      readonly pageInfo: {
        readonly hasNextPage: boolean,
        readonly endCursor: string | null
      }
    } | null
  } | null
};

export const OrdersDocument = document<OrdersQuery, OrdersQueryVariables>(
  '8070dc0d1815fdbb204ace0a751c612f6a479e3aab499bfab8cdb6c37bad15a5',
  "query Orders($status: [OrderStatus!], $after: Cursor) {\n  me {\n    id\n    orders(status: $status, first: 20, after: $after) {\n      edges {\n        node {\n          ...OrderCard\n          __typename\n        }\n        __typename\n      }\n      pageInfo {\n        ...Page\n        __typename\n      }\n      __typename\n    }\n    __typename\n  }\n}\nfragment OrderCard on Order {\n  ...OrderState\n  terms {\n    title\n    __typename\n  }\n  voucher {\n    kind: __typename\n    id\n    shop {\n      id\n      name\n      images {\n        thumbnailUrl\n        __typename\n      }\n      __typename\n    }\n    __typename\n  }\n  __typename\n}\nfragment OrderState on Order {\n  id\n  number\n  status\n  payValue\n  payMethod\n  failure {\n    code\n    message\n    __typename\n  }\n  createdAt\n  paidAt\n  usedAt\n  redeemedBy {\n    id\n    nickname\n    __typename\n  }\n  redemptionDisputedAt\n  cancelledAt\n  refundedAt\n  payBefore\n  __typename\n}\nfragment Page on PageInfo {\n  hasNextPage\n  endCursor\n  __typename\n}",
)
