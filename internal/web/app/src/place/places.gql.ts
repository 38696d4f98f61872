// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type * as Types from '../api/types.gql';

import { document } from '@/api/document'
export type PlacesQueryVariables = Exact<{
  filter?: Types.ShopFilter | null | undefined;
}>;


export type PlacesQuery = {
  readonly shops: {
    readonly edges: ReadonlyArray<{
      readonly node: {
        readonly id: string,
        readonly name: string,
        readonly area: string | null,
        readonly address: string,
        readonly location: {
          readonly lat: number,
          readonly lng: number
        }
      }
    }>
  }
};

export const PlacesDocument = document<PlacesQuery, PlacesQueryVariables>(
  'f7ac2ad992f102c46b8930b90afc91b63469016c2ee3dd8af00710837bbc05ec',
  "query Places($filter: ShopFilter) {\n  shops(filter: $filter, orderBy: SCORE, first: 8) {\n    edges {\n      node {\n        id\n        name\n        area\n        address\n        location {\n          lat\n          lng\n          __typename\n        }\n        __typename\n      }\n      __typename\n    }\n    __typename\n  }\n}",
)
