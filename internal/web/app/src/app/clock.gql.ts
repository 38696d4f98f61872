// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { document } from '@/api/document'
export type ServerTimeQueryVariables = Exact<{ [key: string]: never; }>;


export type ServerTimeQuery = {
  readonly serverTime: string
};

export const ServerTimeDocument = document<ServerTimeQuery, ServerTimeQueryVariables>(
  '387eef24e66b554c9358d8c50c4d55d73fb7730c0ae00afa1fbd9983e20b84c1',
  "query ServerTime {\n  serverTime\n}",
)
