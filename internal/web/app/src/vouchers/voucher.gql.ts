// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type * as Types from '../api/types.gql';

export type VoucherFacts_OrdinaryVoucher_Fragment = {
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
};

export type VoucherFacts_FlashVoucher_Fragment = {
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
};

export type VoucherFactsFragment =
  | VoucherFacts_OrdinaryVoucher_Fragment
  | VoucherFacts_FlashVoucher_Fragment
;

export type VoucherCardFragment = {
  readonly id: string,
  readonly title: string,
  readonly subTitle: string | null,
  readonly payValue: number,
  readonly faceValue: number,
  readonly status: Types.VoucherStatus,
  readonly onePerUser: boolean
};
