// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type * as Types from '../../api/types.gql';

import { document } from '@/api/document'
export type MyRoleQueryVariables = Exact<{ [key: string]: never; }>;


export type MyRoleQuery = {
  readonly me: {
    readonly id: string,
    readonly role: Types.Role | null
  } | null
};

export type MyShopsQueryVariables = Exact<{
  first?: number;
  after?: string | null | undefined;
}>;


export type MyShopsQuery = {
  readonly me: {
    readonly id: string,
    readonly shops: {
      readonly edges: ReadonlyArray<{
        readonly node: {
          readonly id: string,
          readonly name: string,
          readonly area: string | null,
          readonly address: string,
          readonly score: number | null,
          readonly sold: number,
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
    } | null
  } | null
};

export type MerchantShopFragment = {
  readonly id: string,
  readonly name: string,
  readonly area: string | null,
  readonly address: string,
  readonly score: number | null,
  readonly sold: number,
  readonly images: ReadonlyArray<{
    readonly thumbnailUrl: string,
    readonly width: number | null,
    readonly height: number | null
  }>,
  readonly type: {
    readonly id: string,
    readonly name: string
  }
};

export const MyRoleDocument = document<MyRoleQuery, MyRoleQueryVariables>(
  '6111ce526334fabe471c54fd5bf4b20898bf28510ee7d8e0c8d277ea9cfd1822',
  "query MyRole {\n  me {\n    id\n    role\n    __typename\n  }\n}",
)

export const MyShopsDocument = document<MyShopsQuery, MyShopsQueryVariables>(
  'e385f628475a94101640a047bc9c8e4e967ab6e6727962fe76dfdf492d1bae33',
  "query MyShops($first: Int! = 20, $after: Cursor) {\n  me {\n    id\n    shops(first: $first, after: $after) {\n      edges {\n        node {\n          ...MerchantShop\n          __typename\n        }\n        __typename\n      }\n      pageInfo {\n        ...Page\n        __typename\n      }\n      __typename\n    }\n    __typename\n  }\n}\nfragment MerchantShop on Shop {\n  id\n  name\n  area\n  address\n  score\n  sold\n  images {\n    thumbnailUrl\n    width\n    height\n    __typename\n  }\n  type {\n    id\n    name\n    __typename\n  }\n  __typename\n}\nfragment Page on PageInfo {\n  hasNextPage\n  endCursor\n  __typename\n}",
)
