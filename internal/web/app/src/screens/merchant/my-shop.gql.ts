// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type * as Types from '../../api/types.gql';

import { document } from '@/api/document'
export type MerchantVoucher_OrdinaryVoucher_Fragment = {
  readonly id: string,
  readonly title: string,
  readonly subTitle: string | null,
  readonly payValue: number,
  readonly faceValue: number,
  readonly status: Types.VoucherStatus
};

export type MerchantVoucher_FlashVoucher_Fragment = {
  readonly id: string,
  readonly title: string,
  readonly subTitle: string | null,
  readonly payValue: number,
  readonly faceValue: number,
  readonly status: Types.VoucherStatus,
  readonly sale: {
    readonly voucherId: string,
    readonly stock: number,
    readonly initialStock: number,
    readonly beginsAt: string,
    readonly endsAt: string,
    readonly phase: Types.SalePhase
  }
};

export type MerchantVoucherFragment =
  | MerchantVoucher_OrdinaryVoucher_Fragment
  | MerchantVoucher_FlashVoucher_Fragment
;

export type MyShopQueryVariables = Exact<{
  id: string;
}>;


export type MyShopQuery = {
  readonly shop: {
    readonly commentCount: number,
    readonly id: string,
    readonly name: string,
    readonly area: string | null,
    readonly address: string,
    readonly score: number | null,
    readonly sold: number,
    readonly vouchers: ReadonlyArray<
      | {
        readonly id: string,
        readonly title: string,
        readonly subTitle: string | null,
        readonly payValue: number,
        readonly faceValue: number,
        readonly status: Types.VoucherStatus
      }
      | {
        readonly id: string,
        readonly title: string,
        readonly subTitle: string | null,
        readonly payValue: number,
        readonly faceValue: number,
        readonly status: Types.VoucherStatus,
        readonly sale: {
          readonly voucherId: string,
          readonly stock: number,
          readonly initialStock: number,
          readonly beginsAt: string,
          readonly endsAt: string,
          readonly phase: Types.SalePhase
        }
      }
    >,
    readonly images: ReadonlyArray<{
      readonly thumbnailUrl: string,
      readonly width: number | null,
      readonly height: number | null
    }>,
    readonly type: {
      readonly id: string,
      readonly name: string
    }
  } | null
};

export type MerchantOrderFragment = {
  readonly id: string,
  readonly number: string,
  readonly status: Types.OrderStatus,
  readonly payValue: number,
  readonly createdAt: string,
  readonly paidAt: string | null,
  readonly usedAt: string | null,
  readonly redemptionDisputedAt: string | null,
  readonly terms: {
    readonly title: string
  }
};

export type MyShopOrdersQueryVariables = Exact<{
  id: string;
  status?: ReadonlyArray<Types.OrderStatus> | Types.OrderStatus | null | undefined;
  first?: number;
  after?: string | null | undefined;
}>;


export type MyShopOrdersQuery = {
  readonly shop: {
    readonly id: string,
    readonly orders: {
      readonly edges: ReadonlyArray<{
        readonly node: {
          readonly id: string,
          readonly number: string,
          readonly status: Types.OrderStatus,
          readonly payValue: number,
          readonly createdAt: string,
          readonly paidAt: string | null,
          readonly usedAt: string | null,
          readonly redemptionDisputedAt: string | null,
          readonly terms: {
            readonly title: string
          }
        }
      }>,
      readonly pageInfo: {
        readonly hasNextPage: boolean,
        readonly endCursor: string | null
      }
    } | null
  } | null
};

export type MyShopFiguresQueryVariables = Exact<{
  id: string;
  from: string;
  to: string;
}>;


export type MyShopFiguresQuery = {
  readonly shop: {
    readonly id: string,
    readonly visits: {
      readonly uniqueVisitors: number,
      readonly views: number
    },
    readonly visitsByDay: ReadonlyArray<{
      readonly date: string | null,
      readonly uniqueVisitors: number,
      readonly views: number
    }>,
    readonly salesByDay: ReadonlyArray<{
      readonly date: string,
      readonly orders: number,
      readonly paid: number,
      readonly amount: number
    }>
  } | null
};

export const MyShopDocument = document<MyShopQuery, MyShopQueryVariables>(
  '6d863e10f59b253f0169c2af9034d47146ada9793446ac816e33147698e9cbc2',
  "query MyShop($id: ID!) {\n  shop(id: $id) {\n    ...MerchantShop\n    commentCount\n    vouchers {\n      ...MerchantVoucher\n      __typename\n    }\n    __typename\n  }\n}\nfragment MerchantShop on Shop {\n  id\n  name\n  area\n  address\n  score\n  sold\n  images {\n    thumbnailUrl\n    width\n    height\n    __typename\n  }\n  type {\n    id\n    name\n    __typename\n  }\n  __typename\n}\nfragment MerchantVoucher on Voucher {\n  id\n  title\n  subTitle\n  payValue\n  faceValue\n  status\n  ... on FlashVoucher {\n    sale {\n      ...SaleState\n      __typename\n    }\n    __typename\n  }\n  __typename\n}\nfragment SaleState on FlashSale {\n  voucherId\n  stock\n  initialStock\n  beginsAt\n  endsAt\n  phase\n  __typename\n}",
)

export const MyShopOrdersDocument = document<MyShopOrdersQuery, MyShopOrdersQueryVariables>(
  '8c44369f429985838ad7e33893df1a9e94cbf2509a8d0f8a6060385ab46ec917',
  "query MyShopOrders($id: ID!, $status: [OrderStatus!], $first: Int! = 20, $after: Cursor) {\n  shop(id: $id) {\n    id\n    orders(status: $status, first: $first, after: $after) {\n      edges {\n        node {\n          ...MerchantOrder\n          __typename\n        }\n        __typename\n      }\n      pageInfo {\n        ...Page\n        __typename\n      }\n      __typename\n    }\n    __typename\n  }\n}\nfragment MerchantOrder on Order {\n  id\n  number\n  status\n  payValue\n  createdAt\n  paidAt\n  usedAt\n  redemptionDisputedAt\n  terms {\n    title\n    __typename\n  }\n  __typename\n}\nfragment Page on PageInfo {\n  hasNextPage\n  endCursor\n  __typename\n}",
)

export const MyShopFiguresDocument = document<MyShopFiguresQuery, MyShopFiguresQueryVariables>(
  'e95c55dab0070927f1ba3bbb3753f2e736de32a2f4da45f862c6c529f2e4df8f',
  "query MyShopFigures($id: ID!, $from: Date!, $to: Date!) {\n  shop(id: $id) {\n    id\n    visits(from: $from, to: $to) {\n      uniqueVisitors\n      views\n      __typename\n    }\n    visitsByDay(from: $from, to: $to) {\n      date\n      uniqueVisitors\n      views\n      __typename\n    }\n    salesByDay(from: $from, to: $to) {\n      date\n      orders\n      paid\n      amount\n      __typename\n    }\n    __typename\n  }\n}",
)
