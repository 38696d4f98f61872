// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type * as Types from '../../api/types.gql';

import { document } from '@/api/document'
export type SearchShopsQueryVariables = Exact<{
  filter?: Types.ShopFilter | null | undefined;
  near?: Types.NearInput | null | undefined;
  orderBy?: Types.ShopOrder | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type SearchShopsQuery = {
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

export const SearchShopsDocument = document<SearchShopsQuery, SearchShopsQueryVariables>(
  '64acf20a4dea851b66b524c5b492cab421d2949e2b2203dfff26a577ed282020',
  "query SearchShops($filter: ShopFilter, $near: NearInput, $orderBy: ShopOrder, $first: Int = 20, $after: Cursor) {\n  shops(\n    filter: $filter\n    near: $near\n    orderBy: $orderBy\n    first: $first\n    after: $after\n  ) {\n    edges {\n      distance\n      node {\n        ...ShopCard\n        __typename\n      }\n      __typename\n    }\n    pageInfo {\n      ...Page\n      __typename\n    }\n    __typename\n  }\n}\nfragment ShopCard on Shop {\n  id\n  name\n  area\n  address\n  avgPrice\n  score\n  commentCount\n  images {\n    thumbnailUrl\n    width\n    height\n    __typename\n  }\n  type {\n    id\n    name\n    __typename\n  }\n  __typename\n}\nfragment Page on PageInfo {\n  hasNextPage\n  endCursor\n  __typename\n}",
)
