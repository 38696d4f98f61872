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
  readonly streak: number
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
      readonly streak: number
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
      readonly streak: number
    } | null,
    readonly userErrors: ReadonlyArray<{
      readonly code: Types.ErrorCode,
      readonly message: string,
      readonly field: ReadonlyArray<string> | null
    }>
  }
};

export const MyCheckInsDocument = document<MyCheckInsQuery, MyCheckInsQueryVariables>(
  '7d8607fa820fce7145cb4975d59b3651ebcede4948246de7858c9314309ad36d',
  "query MyCheckIns($month: String) {\n  me {\n    id\n    checkIns(month: $month) {\n      ...CheckIns\n      __typename\n    }\n    __typename\n  }\n}\nfragment CheckIns on CheckInMonth {\n  month\n  days\n  count\n  streak\n  __typename\n}",
)

export const CheckInDocument = document<CheckInMutation, CheckInMutationVariables>(
  'd60be73f3bc1998324778746a94be21462da66110c175f331981805bdd24c6c0',
  "mutation CheckIn {\n  checkIn {\n    checkIns {\n      ...CheckIns\n      __typename\n    }\n    pointsEarned\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment CheckIns on CheckInMonth {\n  month\n  days\n  count\n  streak\n  __typename\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  __typename\n}",
)
