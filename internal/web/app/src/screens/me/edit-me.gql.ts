// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type * as Types from '../../api/types.gql';

import { document } from '@/api/document'
export type MyProfileFragment = {
  readonly id: string,
  readonly nickname: string,
  readonly avatarUrl: string | null,
  readonly city: string | null,
  readonly bio: string | null,
  readonly gender: Types.Gender | null,
  readonly birthday: string | null
};

export type MyProfileQueryVariables = Exact<{ [key: string]: never; }>;


export type MyProfileQuery = {
  readonly me: {
    readonly id: string,
    readonly nickname: string,
    readonly avatarUrl: string | null,
    readonly city: string | null,
    readonly bio: string | null,
    readonly gender: Types.Gender | null,
    readonly birthday: string | null
  } | null
};

export type UpdateProfileMutationVariables = Exact<{
  input: Types.UpdateProfileInput;
}>;


export type UpdateProfileMutation = {
  readonly updateProfile: {
    readonly user: {
      readonly id: string,
      readonly nickname: string,
      readonly avatarUrl: string | null,
      readonly city: string | null,
      readonly bio: string | null,
      readonly gender: Types.Gender | null,
      readonly birthday: string | null
    } | null,
    readonly userErrors: ReadonlyArray<{
      readonly code: Types.ErrorCode,
      readonly message: string,
      readonly field: ReadonlyArray<string> | null,
      readonly retryAfterSeconds: number | null
    }>
  }
};

export const MyProfileDocument = document<MyProfileQuery, MyProfileQueryVariables>(
  '6c80993563cc7843609f4dddd0677285e661fa6e9302de4e3c45a33250d1b693',
  "query MyProfile {\n  me {\n    ...MyProfile\n    __typename\n  }\n}\nfragment MyProfile on User {\n  id\n  nickname\n  avatarUrl\n  city\n  bio\n  gender\n  birthday\n  __typename\n}",
)

export const UpdateProfileDocument = document<UpdateProfileMutation, UpdateProfileMutationVariables>(
  'cce8b2d4c7b3d9574c5b75cf4648a5b254d42556765120293bfe99100767866a',
  "mutation UpdateProfile($input: UpdateProfileInput!) {\n  updateProfile(input: $input) {\n    user {\n      ...MyProfile\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment MyProfile on User {\n  id\n  nickname\n  avatarUrl\n  city\n  bio\n  gender\n  birthday\n  __typename\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  retryAfterSeconds\n  __typename\n}",
)
