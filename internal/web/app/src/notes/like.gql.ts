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
      readonly field: ReadonlyArray<string> | null
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
      readonly field: ReadonlyArray<string> | null
    }>
  }
};

export const LikeNoteDocument = document<LikeNoteMutation, LikeNoteMutationVariables>(
  '2810969c35942c4bc3f81d978cf916e61993cb4648763cfb11468f31e924398c',
  "mutation LikeNote($id: ID!) {\n  likeNote(id: $id) {\n    note {\n      id\n      isLiked\n      likeCount\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  __typename\n}",
)

export const UnlikeNoteDocument = document<UnlikeNoteMutation, UnlikeNoteMutationVariables>(
  '4eb8d2e35215b04accf13ba1e7a1b44a8a7ee9ffdabb20e33b6d93fdf3709d04',
  "mutation UnlikeNote($id: ID!) {\n  unlikeNote(id: $id) {\n    note {\n      id\n      isLiked\n      likeCount\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  __typename\n}",
)
