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
      readonly field: ReadonlyArray<string> | null
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
      readonly role: Types.Role
    } | null,
    readonly userErrors: ReadonlyArray<{
      readonly code: Types.ErrorCode,
      readonly message: string,
      readonly field: ReadonlyArray<string> | null
    }>
  }
};

export const SendLoginCodeDocument = document<SendLoginCodeMutation, SendLoginCodeMutationVariables>(
  '022dc8a5e8763002363e3cd5da1d24afd55ef88f925e23e19f32e8b51263ee34',
  "mutation SendLoginCode($phone: String!) {\n  sendLoginCode(phone: $phone) {\n    expiresInSeconds\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  __typename\n}",
)

export const LoginDocument = document<LoginMutation, LoginMutationVariables>(
  '99beab0d6d0e75e70973ee2f6d5ea549b6978d6fbc5ec9bea25e6d653d02f1ce',
  "mutation Login($input: LoginInput!) {\n  login(input: $input) {\n    token\n    user {\n      id\n      nickname\n      role\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  __typename\n}",
)
