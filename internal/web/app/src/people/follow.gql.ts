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
      readonly field: ReadonlyArray<string> | null,
      readonly retryAfterSeconds: number | null
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
      readonly field: ReadonlyArray<string> | null,
      readonly retryAfterSeconds: number | null
    }>
  }
};

export const FollowDocument = document<FollowMutation, FollowMutationVariables>(
  '2f81812d894e95b8c8bf85dbe3ba8e80409283f76f3fbc047df868e902bca3a4',
  "mutation Follow($userId: ID!) {\n  follow(userId: $userId) {\n    user {\n      id\n      isFollowed\n      followerCount\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  retryAfterSeconds\n  __typename\n}",
)

export const UnfollowDocument = document<UnfollowMutation, UnfollowMutationVariables>(
  '57cd89b7a955f850a2dd0160e0077143af66d6584f95f287063373e0a7afc9cd',
  "mutation Unfollow($userId: ID!) {\n  unfollow(userId: $userId) {\n    user {\n      id\n      isFollowed\n      followerCount\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  retryAfterSeconds\n  __typename\n}",
)
