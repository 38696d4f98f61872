// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type * as Types from '../../api/types.gql';

import { document } from '@/api/document'
export type VoucherQueryVariables = Exact<{
  id: string;
}>;


export type VoucherQuery = {
  readonly voucher:
    | {
      readonly id: string,
      readonly title: string,
      readonly subTitle: string | null,
      readonly rules: string | null,
      readonly payValue: number,
      readonly faceValue: number,
      readonly status: Types.VoucherStatus,
      readonly onePerUser: boolean,
      readonly kind: 'OrdinaryVoucher',
      readonly shop: {
        readonly id: string,
        readonly name: string,
        readonly address: string,
        readonly images: ReadonlyArray<{
          readonly thumbnailUrl: string
        }>
      }
    }
    | {
      readonly id: string,
      readonly title: string,
      readonly subTitle: string | null,
      readonly rules: string | null,
      readonly payValue: number,
      readonly faceValue: number,
      readonly status: Types.VoucherStatus,
      readonly onePerUser: boolean,
      readonly kind: 'FlashVoucher',
      readonly shop: {
        readonly id: string,
        readonly name: string,
        readonly address: string,
        readonly images: ReadonlyArray<{
          readonly thumbnailUrl: string
        }>
      }
    }
   | null
};

export const VoucherDocument = document<VoucherQuery, VoucherQueryVariables>(
  'a1f0a453ada82101502e0cb0d282c9b333f52176c5e32ba621e43b27e3255a60',
  "query Voucher($id: ID!) {\n  voucher(id: $id) {\n    ...VoucherFacts\n    __typename\n  }\n}\nfragment VoucherFacts on Voucher {\n  kind: __typename\n  id\n  title\n  subTitle\n  rules\n  payValue\n  faceValue\n  status\n  onePerUser\n  shop {\n    id\n    name\n    address\n    images {\n      thumbnailUrl\n      __typename\n    }\n    __typename\n  }\n  __typename\n}",
)
