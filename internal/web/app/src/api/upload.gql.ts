// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type * as Types from './types.gql';

import { document } from '@/api/document'
export type UploadImageMutationVariables = Exact<{
  file: Blob;
}>;


export type UploadImageMutation = {
  readonly uploadImage: {
    readonly image: {
      readonly url: string,
      readonly width: number | null,
      readonly height: number | null,
      readonly thumbnailUrl: string
    } | null,
    readonly userErrors: ReadonlyArray<{
      readonly code: Types.ErrorCode,
      readonly message: string,
      readonly field: ReadonlyArray<string> | null,
      readonly retryAfterSeconds: number | null
    }>
  }
};

export const UploadImageDocument = document<UploadImageMutation, UploadImageMutationVariables>(
  'a4647189092a77f0cdbd4b0fc546fc7dd0c1b065584af0f803aa06f3f4c8f743',
  "mutation UploadImage($file: Upload!) {\n  uploadImage(file: $file) {\n    image {\n      url\n      width\n      height\n      thumbnailUrl\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  retryAfterSeconds\n  __typename\n}",
)
