// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type * as Types from '../../api/types.gql';

import { document } from '@/api/document'
export type CheckInsFragment = {
  readonly month: string,
  readonly days: ReadonlyArray<number>,
  readonly count: number,
  readonly streak: number,
  readonly today: string
};

export type MyCheckInsQueryVariables = Exact<{
  month?: string | null | undefined;
}>;


export type MyCheckInsQuery = {
  readonly me: {
    readonly id: string,
    readonly checkIns: {
      readonly month: string,
      readonly days: ReadonlyArray<number>,
      readonly count: number,
      readonly streak: number,
      readonly today: string
    } | null
  } | null
};

export type CheckInMutationVariables = Exact<{ [key: string]: never; }>;


export type CheckInMutation = {
  readonly checkIn: {
    readonly pointsEarned: number,
    readonly checkIns: {
      readonly month: string,
      readonly days: ReadonlyArray<number>,
      readonly count: number,
      readonly streak: number,
      readonly today: string
    } | null,
    readonly userErrors: ReadonlyArray<{
      readonly code: Types.ErrorCode,
      readonly message: string,
      readonly field: ReadonlyArray<string> | null,
      readonly retryAfterSeconds: number | null
    }>
  }
};

export const MyCheckInsDocument = document<MyCheckInsQuery, MyCheckInsQueryVariables>(
  '85204f46becdb86b014968425946d9ee6bd0b4cd40488c18775ae7286ba232ae',
  "query MyCheckIns($month: String) {\n  me {\n    id\n    checkIns(month: $month) {\n      ...CheckIns\n      __typename\n    }\n    __typename\n  }\n}\nfragment CheckIns on CheckInMonth {\n  month\n  days\n  count\n  streak\n  today\n  __typename\n}",
)

export const CheckInDocument = document<CheckInMutation, CheckInMutationVariables>(
  '6fc647c5550895e956d72c2080170e2b43cc0bd61071b29b8177ade2f56661c2',
  "mutation CheckIn {\n  checkIn {\n    checkIns {\n      ...CheckIns\n      __typename\n    }\n    pointsEarned\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment CheckIns on CheckInMonth {\n  month\n  days\n  count\n  streak\n  today\n  __typename\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  retryAfterSeconds\n  __typename\n}",
)
