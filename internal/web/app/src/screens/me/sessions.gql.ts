// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type * as Types from '../../api/types.gql';

import { document } from '@/api/document'
export type MySessionsFragment = {
  readonly id: string,
  readonly sessions: ReadonlyArray<{
    readonly id: string,
    readonly createdAt: string,
    readonly lastUsedAt: string,
    readonly isCurrent: boolean,
    readonly device: string | null
  }> | null
};

export type MySessionsQueryVariables = Exact<{ [key: string]: never; }>;


export type MySessionsQuery = {
  readonly me: {
    readonly id: string,
    readonly sessions: ReadonlyArray<{
      readonly id: string,
      readonly createdAt: string,
      readonly lastUsedAt: string,
      readonly isCurrent: boolean,
      readonly device: string | null
    }> | null
  } | null
};

export type EndSessionMutationVariables = Exact<{
  id: string;
}>;


export type EndSessionMutation = {
  readonly endSession: {
    readonly user: {
      readonly id: string,
      readonly sessions: ReadonlyArray<{
        readonly id: string,
        readonly createdAt: string,
        readonly lastUsedAt: string,
        readonly isCurrent: boolean,
        readonly device: string | null
      }> | null
    } | null,
    readonly userErrors: ReadonlyArray<{
      readonly code: Types.ErrorCode,
      readonly message: string,
      readonly field: ReadonlyArray<string> | null,
      readonly retryAfterSeconds: number | null
    }>
  }
};

export type EndOtherSessionsMutationVariables = Exact<{ [key: string]: never; }>;


export type EndOtherSessionsMutation = {
  readonly endOtherSessions: {
    readonly user: {
      readonly id: string,
      readonly sessions: ReadonlyArray<{
        readonly id: string,
        readonly createdAt: string,
        readonly lastUsedAt: string,
        readonly isCurrent: boolean,
        readonly device: string | null
      }> | null
    } | null,
    readonly userErrors: ReadonlyArray<{
      readonly code: Types.ErrorCode,
      readonly message: string,
      readonly field: ReadonlyArray<string> | null,
      readonly retryAfterSeconds: number | null
    }>
  }
};

export const MySessionsDocument = document<MySessionsQuery, MySessionsQueryVariables>(
  'ce04314b01fe230fe16b2b21574573febc88031431bc718c5bd3fe56fe001928',
  "query MySessions {\n  me {\n    ...MySessions\n    __typename\n  }\n}\nfragment MySessions on User {\n  id\n  sessions {\n    id\n    createdAt\n    lastUsedAt\n    isCurrent\n    device\n    __typename\n  }\n  __typename\n}",
)

export const EndSessionDocument = document<EndSessionMutation, EndSessionMutationVariables>(
  'e9f6e77a5346f7ae01522b65cf7b78d0bf78dca4d72e82527c6f5362f38412b9',
  "mutation EndSession($id: ID!) {\n  endSession(id: $id) {\n    user {\n      ...MySessions\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment MySessions on User {\n  id\n  sessions {\n    id\n    createdAt\n    lastUsedAt\n    isCurrent\n    device\n    __typename\n  }\n  __typename\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  retryAfterSeconds\n  __typename\n}",
)

export const EndOtherSessionsDocument = document<EndOtherSessionsMutation, EndOtherSessionsMutationVariables>(
  'f5f34f694ff77f3a4d15c1caef7ed5a71a6c2827636953d720ce448cfdefe889',
  "mutation EndOtherSessions {\n  endOtherSessions {\n    user {\n      ...MySessions\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment MySessions on User {\n  id\n  sessions {\n    id\n    createdAt\n    lastUsedAt\n    isCurrent\n    device\n    __typename\n  }\n  __typename\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  retryAfterSeconds\n  __typename\n}",
)
