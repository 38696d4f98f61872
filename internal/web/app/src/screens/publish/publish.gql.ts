// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type * as Types from '../../api/types.gql';

import { document } from '@/api/document'
export type PickShopsQueryVariables = Exact<{
  filter?: Types.ShopFilter | null | undefined;
  near?: Types.NearInput | null | undefined;
}>;


export type PickShopsQuery = {
  readonly shops: {
    readonly edges: ReadonlyArray<{
      readonly node: {
        readonly address: string,
        readonly id: string,
        readonly name: string,
        readonly area: string | null
      }
    }>
  }
};

export type PickedShopQueryVariables = Exact<{
  id: string;
}>;


export type PickedShopQuery = {
  readonly shop: {
    readonly id: string,
    readonly name: string,
    readonly area: string | null
  } | null
};

export type PickedShopFragment = {
  readonly id: string,
  readonly name: string,
  readonly area: string | null
};

export type PublishNoteMutationVariables = Exact<{
  input: Types.PublishNoteInput;
}>;


export type PublishNoteMutation = {
  readonly publishNote: {
    readonly note: {
      readonly id: string
    } | null,
    readonly userErrors: ReadonlyArray<{
      readonly code: Types.ErrorCode,
      readonly message: string,
      readonly field: ReadonlyArray<string> | null,
      readonly retryAfterSeconds: number | null
    }>
  }
};

export const PickShopsDocument = document<PickShopsQuery, PickShopsQueryVariables>(
  'f34517529d1e911a9edcba4d3a73719dfe815e2d0b3726fa6b77fe4f63b983c5',
  "query PickShops($filter: ShopFilter, $near: NearInput) {\n  shops(filter: $filter, near: $near, first: 10) {\n    edges {\n      node {\n        ...PickedShop\n        address\n        __typename\n      }\n      __typename\n    }\n    __typename\n  }\n}\nfragment PickedShop on Shop {\n  id\n  name\n  area\n  __typename\n}",
)

export const PickedShopDocument = document<PickedShopQuery, PickedShopQueryVariables>(
  '1f8d723e57bea4031313a595d264e3a9ebb0001fab06d4fe7bf37a4ad89eff3a',
  "query PickedShop($id: ID!) {\n  shop(id: $id) {\n    ...PickedShop\n    __typename\n  }\n}\nfragment PickedShop on Shop {\n  id\n  name\n  area\n  __typename\n}",
)

export const PublishNoteDocument = document<PublishNoteMutation, PublishNoteMutationVariables>(
  '9f9eac10bca0faac49c4cdba1357348c4b8abb35121f8a9d473e3fc0357d3c2b',
  "mutation PublishNote($input: PublishNoteInput!) {\n  publishNote(input: $input) {\n    note {\n      id\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  retryAfterSeconds\n  __typename\n}",
)
