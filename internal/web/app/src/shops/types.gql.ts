// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { document } from '@/api/document'
export type ShopTypesQueryVariables = Exact<{ [key: string]: never; }>;


export type ShopTypesQuery = {
  readonly shopTypes: ReadonlyArray<{
    readonly id: string,
    readonly name: string,
    readonly iconUrl: string | null,
    readonly sort: number
  }>
};

export const ShopTypesDocument = document<ShopTypesQuery, ShopTypesQueryVariables>(
  'd1dc012c35ec87af789bc642bdd1e747e896f1042299c5d16a5dda341f185d39',
  "query ShopTypes {\n  shopTypes {\n    id\n    name\n    iconUrl\n    sort\n    __typename\n  }\n}",
)
