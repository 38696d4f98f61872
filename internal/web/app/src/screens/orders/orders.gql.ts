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
  '309c3a8120b2ff195e1ee1e363d9fd84aed3a2389eb2d492d870045f3b0c3d11',
  "query Orders($status: [OrderStatus!], $after: Cursor) {\n  me {\n    id\n    orders(status: $status, first: 20, after: $after) {\n      edges {\n        node {\n          ...OrderCard\n          __typename\n        }\n        __typename\n      }\n      pageInfo {\n        ...Page\n        __typename\n      }\n      __typename\n    }\n    __typename\n  }\n}\nfragment OrderCard on Order {\n  ...OrderState\n  voucher {\n    kind: __typename\n    id\n    title\n    shop {\n      id\n      name\n      images {\n        thumbnailUrl\n        __typename\n      }\n      __typename\n    }\n    __typename\n  }\n  __typename\n}\nfragment OrderState on Order {\n  id\n  number\n  status\n  payValue\n  payMethod\n  failure {\n    code\n    message\n    __typename\n  }\n  createdAt\n  paidAt\n  usedAt\n  cancelledAt\n  refundedAt\n  payBefore\n  __typename\n}\nfragment Page on PageInfo {\n  hasNextPage\n  endCursor\n  __typename\n}",
)
