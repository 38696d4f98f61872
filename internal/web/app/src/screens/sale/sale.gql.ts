// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type * as Types from '../../api/types.gql';

import { document } from '@/api/document'
export type SaleQueryVariables = Exact<{
  id: string;
}>;


export type SaleQuery = {
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
      readonly sale: {
        readonly voucherId: string,
        readonly stock: number,
        readonly initialStock: number,
        readonly beginsAt: string,
        readonly endsAt: string,
        readonly phase: Types.SalePhase
      },
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

export const SaleDocument = document<SaleQuery, SaleQueryVariables>(
  'aa645709535143ffcb34ce76ec3427a12ec2b8ca4a122e88063d4a3200991fa8',
  "query Sale($id: ID!) {\n  voucher(id: $id) {\n    ...VoucherFacts\n    ... on FlashVoucher {\n      sale {\n        ...SaleState\n        __typename\n      }\n      __typename\n    }\n    __typename\n  }\n}\nfragment VoucherFacts on Voucher {\n  kind: __typename\n  id\n  title\n  subTitle\n  rules\n  payValue\n  faceValue\n  status\n  onePerUser\n  shop {\n    id\n    name\n    address\n    images {\n      thumbnailUrl\n      __typename\n    }\n    __typename\n  }\n  __typename\n}\nfragment SaleState on FlashSale {\n  voucherId\n  stock\n  initialStock\n  beginsAt\n  endsAt\n  phase\n  __typename\n}",
)
