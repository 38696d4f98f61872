// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type * as Types from '../api/types.gql';

export type SaleStateFragment = {
  readonly voucherId: string,
  readonly stock: number,
  readonly initialStock: number,
  readonly beginsAt: string,
  readonly endsAt: string,
  readonly phase: Types.SalePhase
};

export type SaleCardFragment = {
  readonly id: string,
  readonly title: string,
  readonly subTitle: string | null,
  readonly payValue: number,
  readonly faceValue: number,
  readonly status: Types.VoucherStatus,
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
    readonly name: string
  }
};
