// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type * as Types from '../../api/types.gql';

import { document } from '@/api/document'
export type ShopQueryVariables = Exact<{
  id: string;
}>;


export type ShopQuery = {
  readonly shop: {
    readonly id: string,
    readonly name: string,
    readonly area: string | null,
    readonly address: string,
    readonly openHours: string | null,
    readonly avgPrice: number | null,
    readonly score: number | null,
    readonly sold: number,
    readonly commentCount: number,
    readonly images: ReadonlyArray<{
      readonly url: string,
      readonly thumbnailUrl: string,
      readonly width: number | null,
      readonly height: number | null
    }>,
    readonly location: {
      readonly lat: number,
      readonly lng: number
    },
    readonly type: {
      readonly id: string,
      readonly name: string
    },
    readonly vouchers: ReadonlyArray<
      | {
        readonly id: string,
        readonly title: string,
        readonly subTitle: string | null,
        readonly payValue: number,
        readonly faceValue: number,
        readonly status: Types.VoucherStatus,
        readonly onePerUser: boolean
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
        },
        readonly shop: {
          readonly id: string,
          readonly name: string
        }
      }
    >
  } | null
};

export type ShopNotesQueryVariables = Exact<{
  id: string;
  after?: string | null | undefined;
}>;


export type ShopNotesQuery = {
  readonly shop: {
    readonly id: string,
    readonly notes: {
      readonly edges: ReadonlyArray<{
        readonly node: {
          readonly id: string,
          readonly title: string,
          readonly content: string,
          readonly likeCount: number,
          readonly commentCount: number,
          readonly isLiked: boolean,
          readonly createdAt: string,
          readonly images: ReadonlyArray<{
            readonly thumbnailUrl: string,
            readonly width: number | null,
            readonly height: number | null
          }>,
          readonly author: {
            readonly id: string,
            readonly nickname: string,
            readonly avatarUrl: string | null
          },
          readonly shop: {
            readonly id: string,
            readonly name: string
          }
        }
      }>,
      readonly pageInfo: {
        readonly hasNextPage: boolean,
        readonly endCursor: string | null
      }
    }
  } | null
};

export const ShopDocument = document<ShopQuery, ShopQueryVariables>(
  '5d7f07abe31ca6467522d07f214ba0a1dabcc8b3913986811189db5a3f727583',
  "query Shop($id: ID!) {\n  shop(id: $id) {\n    id\n    name\n    area\n    address\n    openHours\n    avgPrice\n    score\n    sold\n    commentCount\n    images {\n      url\n      thumbnailUrl\n      width\n      height\n      __typename\n    }\n    location {\n      lat\n      lng\n      __typename\n    }\n    type {\n      id\n      name\n      __typename\n    }\n    vouchers {\n      id\n      ... on OrdinaryVoucher {\n        ...VoucherCard\n        __typename\n      }\n      ... on FlashVoucher {\n        ...SaleCard\n        __typename\n      }\n      __typename\n    }\n    __typename\n  }\n}\nfragment VoucherCard on OrdinaryVoucher {\n  id\n  title\n  subTitle\n  payValue\n  faceValue\n  status\n  onePerUser\n  __typename\n}\nfragment SaleCard on FlashVoucher {\n  id\n  title\n  subTitle\n  payValue\n  faceValue\n  status\n  sale {\n    ...SaleState\n    __typename\n  }\n  shop {\n    id\n    name\n    __typename\n  }\n  __typename\n}\nfragment SaleState on FlashSale {\n  voucherId\n  stock\n  initialStock\n  beginsAt\n  endsAt\n  phase\n  __typename\n}",
)

export const ShopNotesDocument = document<ShopNotesQuery, ShopNotesQueryVariables>(
  '9dfa3c18b571acefebbad1a835d89ae54bd1914d2451cce83d3e11ed3578734e',
  "query ShopNotes($id: ID!, $after: Cursor) {\n  shop(id: $id) {\n    id\n    notes(first: 10, after: $after) {\n      edges {\n        node {\n          ...NoteCard\n          __typename\n        }\n        __typename\n      }\n      pageInfo {\n        ...Page\n        __typename\n      }\n      __typename\n    }\n    __typename\n  }\n}\nfragment NoteCard on Note {\n  id\n  title\n  content\n  likeCount\n  commentCount\n  isLiked\n  createdAt\n  images {\n    thumbnailUrl\n    width\n    height\n    __typename\n  }\n  author {\n    id\n    nickname\n    avatarUrl\n    __typename\n  }\n  shop {\n    id\n    name\n    __typename\n  }\n  __typename\n}\nfragment Page on PageInfo {\n  hasNextPage\n  endCursor\n  __typename\n}",
)
