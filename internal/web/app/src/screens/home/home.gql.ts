// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type * as Types from '../../api/types.gql';

import { document } from '@/api/document'
export type HomeQueryVariables = Exact<{ [key: string]: never; }>;


export type HomeQuery = {
  readonly shopTypes: ReadonlyArray<{
    readonly id: string,
    readonly name: string,
    readonly iconUrl: string | null,
    readonly sort: number
  }>,
  readonly flashSales: {
    readonly edges: ReadonlyArray<{
      readonly node: {
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
    }>
  }
};

export type HomeShopsQueryVariables = Exact<{
  filter?: Types.ShopFilter | null | undefined;
  near?: Types.NearInput | null | undefined;
  first: number;
  after?: string | null | undefined;
}>;


export type HomeShopsQuery = {
  readonly shops: {
    readonly edges: ReadonlyArray<{
      readonly distance: number | null,
      readonly node: {
        readonly id: string,
        readonly name: string,
        readonly area: string | null,
        readonly address: string,
        readonly avgPrice: number | null,
        readonly score: number | null,
        readonly commentCount: number,
        readonly images: ReadonlyArray<{
          readonly thumbnailUrl: string,
          readonly width: number | null,
          readonly height: number | null
        }>,
        readonly type: {
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
};

export type HotNotesQueryVariables = Exact<{
  after?: string | null | undefined;
}>;


export type HotNotesQuery = {
  readonly hotNotes: {
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
};

export const HomeDocument = document<HomeQuery, HomeQueryVariables>(
  '62d0566c8581b968dc8163f66a9a4892448abbf2f7a41d88659cd09aa65a181e',
  "query Home {\n  shopTypes {\n    id\n    name\n    iconUrl\n    sort\n    __typename\n  }\n  flashSales(first: 6) {\n    edges {\n      node {\n        ...SaleCard\n        __typename\n      }\n      __typename\n    }\n    __typename\n  }\n}\nfragment SaleCard on FlashVoucher {\n  id\n  title\n  subTitle\n  payValue\n  faceValue\n  status\n  sale {\n    ...SaleState\n    __typename\n  }\n  shop {\n    id\n    name\n    __typename\n  }\n  __typename\n}\nfragment SaleState on FlashSale {\n  voucherId\n  stock\n  initialStock\n  beginsAt\n  endsAt\n  phase\n  __typename\n}",
)

export const HomeShopsDocument = document<HomeShopsQuery, HomeShopsQueryVariables>(
  '7c3940d8ffe73630da36dd395ccbf7b7ebcb98d3de7abd7688bc7d7ecf0d892e',
  "query HomeShops($filter: ShopFilter, $near: NearInput, $first: Int!, $after: Cursor) {\n  shops(filter: $filter, near: $near, first: $first, after: $after) {\n    edges {\n      distance\n      node {\n        ...ShopCard\n        __typename\n      }\n      __typename\n    }\n    pageInfo {\n      ...Page\n      __typename\n    }\n    __typename\n  }\n}\nfragment ShopCard on Shop {\n  id\n  name\n  area\n  address\n  avgPrice\n  score\n  commentCount\n  images {\n    thumbnailUrl\n    width\n    height\n    __typename\n  }\n  type {\n    id\n    name\n    __typename\n  }\n  __typename\n}\nfragment Page on PageInfo {\n  hasNextPage\n  endCursor\n  __typename\n}",
)

export const HotNotesDocument = document<HotNotesQuery, HotNotesQueryVariables>(
  '8f2923f1cd689f1c87d65e9aa9c4e387b55f6e217ac0fde8dae5702c615fb832',
  "query HotNotes($after: Cursor) {\n  hotNotes(first: 10, after: $after) {\n    edges {\n      node {\n        ...NoteCard\n        __typename\n      }\n      __typename\n    }\n    pageInfo {\n      ...Page\n      __typename\n    }\n    __typename\n  }\n}\nfragment NoteCard on Note {\n  id\n  title\n  content\n  likeCount\n  commentCount\n  isLiked\n  createdAt\n  images {\n    thumbnailUrl\n    width\n    height\n    __typename\n  }\n  author {\n    id\n    nickname\n    avatarUrl\n    __typename\n  }\n  shop {\n    id\n    name\n    __typename\n  }\n  __typename\n}\nfragment Page on PageInfo {\n  hasNextPage\n  endCursor\n  __typename\n}",
)
