// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type * as Types from '../api/types.gql';

import { document } from '@/api/document'
export type UploadPictureMutationVariables = Exact<{
  file: Blob;
}>;


export type UploadPictureMutation = {
  readonly uploadImage: {
    readonly image: {
      readonly url: string,
      readonly thumbnailUrl: string,
      readonly width: number | null,
      readonly height: number | null
    } | null,
    readonly userErrors: ReadonlyArray<{
      readonly code: Types.ErrorCode,
      readonly message: string,
      readonly field: ReadonlyArray<string> | null
    }>
  }
};

export const UploadPictureDocument = document<UploadPictureMutation, UploadPictureMutationVariables>(
  '3f623f5755a4acace6b3998f32a580df67b472a9463385d488f0f19a5ae1302c',
  "mutation UploadPicture($file: Upload!) {\n  uploadImage(file: $file) {\n    image {\n      url\n      thumbnailUrl\n      width\n      height\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  __typename\n}",
)
