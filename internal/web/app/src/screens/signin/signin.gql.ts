// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type * as Types from '../../api/types.gql';

import { document } from '@/api/document'
export type SendLoginCodeMutationVariables = Exact<{
  phone: string;
}>;


export type SendLoginCodeMutation = {
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

export type LoginMutationVariables = Exact<{
  input: Types.LoginInput;
}>;


export type LoginMutation = {
  readonly login: {
    readonly token: string | null,
    readonly user: {
      readonly id: string,
      readonly nickname: string,
      readonly role: Types.Role | null
    } | null,
    readonly userErrors: ReadonlyArray<{
      readonly code: Types.ErrorCode,
      readonly message: string,
      readonly field: ReadonlyArray<string> | null,
      readonly retryAfterSeconds: number | null
    }>
  }
};

export const SendLoginCodeDocument = document<SendLoginCodeMutation, SendLoginCodeMutationVariables>(
  'c8e0a584448bf508f91c06c7fbfb2acaecd8b2dc271b6f002156316ed8e4e246',
  "mutation SendLoginCode($phone: String!) {\n  sendLoginCode(phone: $phone) {\n    expiresInSeconds\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  retryAfterSeconds\n  __typename\n}",
)

export const LoginDocument = document<LoginMutation, LoginMutationVariables>(
  '7684c625320238264abf7e2e0c76276f31fe5e42b7d07efbd99f6453cd962b1c',
  "mutation Login($input: LoginInput!) {\n  login(input: $input) {\n    token\n    user {\n      id\n      nickname\n      role\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  retryAfterSeconds\n  __typename\n}",
)
