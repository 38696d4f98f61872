// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type * as Types from '../api/types.gql';

import { document } from '@/api/document'
export type LikeNoteMutationVariables = Exact<{
  id: string;
}>;


export type LikeNoteMutation = {
  readonly likeNote: {
    readonly note: {
      readonly id: string,
      readonly isLiked: boolean,
      readonly likeCount: number
    } | null,
    readonly userErrors: ReadonlyArray<{
      readonly code: Types.ErrorCode,
      readonly message: string,
      readonly field: ReadonlyArray<string> | null,
      readonly retryAfterSeconds: number | null
    }>
  }
};

export type UnlikeNoteMutationVariables = Exact<{
  id: string;
}>;


export type UnlikeNoteMutation = {
  readonly unlikeNote: {
    readonly note: {
      readonly id: string,
      readonly isLiked: boolean,
      readonly likeCount: number
    } | null,
    readonly userErrors: ReadonlyArray<{
      readonly code: Types.ErrorCode,
      readonly message: string,
      readonly field: ReadonlyArray<string> | null,
      readonly retryAfterSeconds: number | null
    }>
  }
};

export const LikeNoteDocument = document<LikeNoteMutation, LikeNoteMutationVariables>(
  'f4e64bee002749d7e406a3fe3a138865f86fbb5cff7cb678c88d10c74f0af27c',
  "mutation LikeNote($id: ID!) {\n  likeNote(id: $id) {\n    note {\n      id\n      isLiked\n      likeCount\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  retryAfterSeconds\n  __typename\n}",
)

export const UnlikeNoteDocument = document<UnlikeNoteMutation, UnlikeNoteMutationVariables>(
  '006af0ed628f4ca9db5c4d8ec4100dff4ab32c0c4b3124c2f677401783b47792',
  "mutation UnlikeNote($id: ID!) {\n  unlikeNote(id: $id) {\n    note {\n      id\n      isLiked\n      likeCount\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  retryAfterSeconds\n  __typename\n}",
)
