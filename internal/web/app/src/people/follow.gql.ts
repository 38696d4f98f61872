// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type * as Types from '../api/types.gql';

import { document } from '@/api/document'
export type PersonFragment = {
  readonly id: string,
  readonly nickname: string,
  readonly avatarUrl: string | null,
  readonly bio: string | null,
  readonly isFollowed: boolean,
  readonly followerCount: number
};

export type FollowMutationVariables = Exact<{
  userId: string;
}>;


export type FollowMutation = {
  readonly follow: {
    readonly user: {
      readonly id: string,
      readonly isFollowed: boolean,
      readonly followerCount: number
    } | null,
    readonly userErrors: ReadonlyArray<{
      readonly code: Types.ErrorCode,
      readonly message: string,
      readonly field: ReadonlyArray<string> | null
    }>
  }
};

export type UnfollowMutationVariables = Exact<{
  userId: string;
}>;


export type UnfollowMutation = {
  readonly unfollow: {
    readonly user: {
      readonly id: string,
      readonly isFollowed: boolean,
      readonly followerCount: number
    } | null,
    readonly userErrors: ReadonlyArray<{
      readonly code: Types.ErrorCode,
      readonly message: string,
      readonly field: ReadonlyArray<string> | null
    }>
  }
};

export const FollowDocument = document<FollowMutation, FollowMutationVariables>(
  'bedae1796c2f296971c6b046a4b7c0f0ff7df96008ac41b428f4703746c8f07d',
  "mutation Follow($userId: ID!) {\n  follow(userId: $userId) {\n    user {\n      id\n      isFollowed\n      followerCount\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  __typename\n}",
)

export const UnfollowDocument = document<UnfollowMutation, UnfollowMutationVariables>(
  '3493971acb7085469a71e2517fb1610749a06b2d7b1d180fdbcff9e7022a6410',
  "mutation Unfollow($userId: ID!) {\n  unfollow(userId: $userId) {\n    user {\n      id\n      isFollowed\n      followerCount\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  __typename\n}",
)
