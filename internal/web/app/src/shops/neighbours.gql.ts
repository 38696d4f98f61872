// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type * as Types from '../api/types.gql';

import { document } from '@/api/document'
export type NeighboursQueryVariables = Exact<{
  near: Types.NearInput;
}>;


export type NeighboursQuery = {
  readonly shops: {
    readonly edges: ReadonlyArray<{
      readonly distance: number | null,
      readonly node: {
        readonly id: string,
        readonly name: string,
        readonly location: {
          readonly lat: number,
          readonly lng: number
        },
        readonly type: {
          readonly id: string,
          readonly name: string
        }
      }
    }>
  }
};

export const NeighboursDocument = document<NeighboursQuery, NeighboursQueryVariables>(
  'b87776e13e17a8a14d54b7c1b556fd498a66882c5cffb1d8ae61584139c298d4',
  "query Neighbours($near: NearInput!) {\n  shops(near: $near, first: 31) {\n    edges {\n      distance\n      node {\n        id\n        name\n        location {\n          lat\n          lng\n          __typename\n        }\n        type {\n          id\n          name\n          __typename\n        }\n        __typename\n      }\n      __typename\n    }\n    __typename\n  }\n}",
)
