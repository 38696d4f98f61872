// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type * as Types from '../../api/types.gql';

import { document } from '@/api/document'
export type SetPasswordMutationVariables = Exact<{
  password: string;
  currentPassword?: string | null | undefined;
  code?: string | null | undefined;
}>;


export type SetPasswordMutation = {
  readonly setPassword: {
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

export type SendPasswordCodeMutationVariables = Exact<{
  phone: string;
}>;


export type SendPasswordCodeMutation = {
  readonly sendLoginCode: {
    readonly expiresInSeconds: number | null,
    readonly userErrors: ReadonlyArray<{
      readonly code: Types.ErrorCode,
      readonly message: string,
      readonly field: ReadonlyArray<string> | null,
      readonly retryAfterSeconds: number | null
    }>
  }
};

export const SetPasswordDocument = document<SetPasswordMutation, SetPasswordMutationVariables>(
  '0f8307f098f97148785af7200947f6c6d7959d3586d35aa9fb6be913b656b147',
  "mutation SetPassword($password: String!, $currentPassword: String, $code: String) {\n  setPassword(password: $password, currentPassword: $currentPassword, code: $code) {\n    user {\n      ...MySessions\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment MySessions on User {\n  id\n  sessions {\n    id\n    createdAt\n    lastUsedAt\n    isCurrent\n    device\n    __typename\n  }\n  __typename\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  retryAfterSeconds\n  __typename\n}",
)

export const SendPasswordCodeDocument = document<SendPasswordCodeMutation, SendPasswordCodeMutationVariables>(
  '42877fbc361d85ad5aee2f7c17c7c91665ac856c2e73b5eb75e5ee175e442275',
  "mutation SendPasswordCode($phone: String!) {\n  sendLoginCode(phone: $phone) {\n    expiresInSeconds\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  retryAfterSeconds\n  __typename\n}",
)
