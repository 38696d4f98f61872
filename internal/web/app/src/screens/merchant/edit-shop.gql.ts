// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type * as Types from '../../api/types.gql';

import { document } from '@/api/document'
export type ShopFormFragment = {
  readonly id: string,
  readonly name: string,
  readonly area: string | null,
  readonly address: string,
  readonly avgPrice: number | null,
  readonly openHours: string | null,
  readonly type: {
    readonly id: string,
    readonly name: string
  },
  readonly location: {
    readonly lat: number,
    readonly lng: number
  },
  readonly images: ReadonlyArray<{
    readonly url: string,
    readonly thumbnailUrl: string
  }>
};

export type ShopFormQueryVariables = Exact<{
  id: string;
}>;


export type ShopFormQuery = {
  readonly shop: {
    readonly id: string,
    readonly name: string,
    readonly area: string | null,
    readonly address: string,
    readonly avgPrice: number | null,
    readonly openHours: string | null,
    readonly type: {
      readonly id: string,
      readonly name: string
    },
    readonly location: {
      readonly lat: number,
      readonly lng: number
    },
    readonly images: ReadonlyArray<{
      readonly url: string,
      readonly thumbnailUrl: string
    }>
  } | null
};

export type CreateShopMutationVariables = Exact<{
  input: Types.CreateShopInput;
}>;


export type CreateShopMutation = {
  readonly createShop: {
    readonly shop: {
      readonly id: string,
      readonly name: string,
      readonly area: string | null,
      readonly address: string,
      readonly avgPrice: number | null,
      readonly openHours: string | null,
      readonly type: {
        readonly id: string,
        readonly name: string
      },
      readonly location: {
        readonly lat: number,
        readonly lng: number
      },
      readonly images: ReadonlyArray<{
        readonly url: string,
        readonly thumbnailUrl: string
      }>
    } | null,
    readonly userErrors: ReadonlyArray<{
      readonly code: Types.ErrorCode,
      readonly message: string,
      readonly field: ReadonlyArray<string> | null,
      readonly retryAfterSeconds: number | null
    }>
  }
};

export type UpdateShopMutationVariables = Exact<{
  input: Types.UpdateShopInput;
}>;


export type UpdateShopMutation = {
  readonly updateShop: {
    readonly shop: {
      readonly id: string,
      readonly name: string,
      readonly area: string | null,
      readonly address: string,
      readonly avgPrice: number | null,
      readonly openHours: string | null,
      readonly type: {
        readonly id: string,
        readonly name: string
      },
      readonly location: {
        readonly lat: number,
        readonly lng: number
      },
      readonly images: ReadonlyArray<{
        readonly url: string,
        readonly thumbnailUrl: string
      }>
    } | null,
    readonly userErrors: ReadonlyArray<{
      readonly code: Types.ErrorCode,
      readonly message: string,
      readonly field: ReadonlyArray<string> | null,
      readonly retryAfterSeconds: number | null
    }>
  }
};

export const ShopFormDocument = document<ShopFormQuery, ShopFormQueryVariables>(
  'd69057cb8b4e33768db96a8ca4d729a4d651b403c2d47b33e957d7550b97fea1',
  "query ShopForm($id: ID!) {\n  shop(id: $id) {\n    ...ShopForm\n    __typename\n  }\n}\nfragment ShopForm on Shop {\n  id\n  name\n  area\n  address\n  avgPrice\n  openHours\n  type {\n    id\n    name\n    __typename\n  }\n  location {\n    lat\n    lng\n    __typename\n  }\n  images {\n    url\n    thumbnailUrl\n    __typename\n  }\n  __typename\n}",
)

export const CreateShopDocument = document<CreateShopMutation, CreateShopMutationVariables>(
  '03b39c0391c4dc7233e20503ae0a3d96105a42f0954b93857de86fc1f3ea4855',
  "mutation CreateShop($input: CreateShopInput!) {\n  createShop(input: $input) {\n    shop {\n      ...ShopForm\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment ShopForm on Shop {\n  id\n  name\n  area\n  address\n  avgPrice\n  openHours\n  type {\n    id\n    name\n    __typename\n  }\n  location {\n    lat\n    lng\n    __typename\n  }\n  images {\n    url\n    thumbnailUrl\n    __typename\n  }\n  __typename\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  retryAfterSeconds\n  __typename\n}",
)

export const UpdateShopDocument = document<UpdateShopMutation, UpdateShopMutationVariables>(
  '43cf9bb49a4ed456e7cd1186e2edbd61243ebfdddf731c6643ecdb4862a83414',
  "mutation UpdateShop($input: UpdateShopInput!) {\n  updateShop(input: $input) {\n    shop {\n      ...ShopForm\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment ShopForm on Shop {\n  id\n  name\n  area\n  address\n  avgPrice\n  openHours\n  type {\n    id\n    name\n    __typename\n  }\n  location {\n    lat\n    lng\n    __typename\n  }\n  images {\n    url\n    thumbnailUrl\n    __typename\n  }\n  __typename\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  retryAfterSeconds\n  __typename\n}",
)
