// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type * as Types from '../../api/types.gql';

import { document } from '@/api/document'
export type MeQueryVariables = Exact<{ [key: string]: never; }>;


export type MeQuery = {
  readonly me: {
    readonly id: string,
    readonly nickname: string,
    readonly avatarUrl: string | null,
    readonly phone: string | null,
    readonly role: Types.Role | null,
    readonly level: number,
    readonly points: number,
    readonly noteCount: number,
    readonly followerCount: number,
    readonly followeeCount: number
  } | null
};

export type LogoutMutationVariables = Exact<{ [key: string]: never; }>;


export type LogoutMutation = {
  readonly logout: {
    readonly userErrors: ReadonlyArray<{
      readonly code: Types.ErrorCode,
      readonly message: string,
      readonly field: ReadonlyArray<string> | null,
      readonly retryAfterSeconds: number | null
    }>
  }
};

export const MeDocument = document<MeQuery, MeQueryVariables>(
  '9c4b631fb5174de9040077370f51423f17449c98cc67956a76ea20fa1dac9e67',
  "query Me {\n  me {\n    id\n    nickname\n    avatarUrl\n    phone\n    role\n    level\n    points\n    noteCount\n    followerCount\n    followeeCount\n    __typename\n  }\n}",
)

export const LogoutDocument = document<LogoutMutation, LogoutMutationVariables>(
  '311f6c91eb4a18ce0b00801eb1da1ef1dbbf78aa4fb58c360852564ce9d5bd61',
  "mutation Logout {\n  logout {\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  retryAfterSeconds\n  __typename\n}",
)
