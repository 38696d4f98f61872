// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type * as Types from '../api/types.gql';

import { document } from '@/api/document'
export type LiveSaleSubscriptionVariables = Exact<{
  voucherId: string;
}>;


export type LiveSaleSubscription = {
  readonly stockUpdates: {
    readonly voucherId: string,
    readonly stock: number,
    readonly initialStock: number,
    readonly beginsAt: string,
    readonly endsAt: string,
    readonly phase: Types.SalePhase
  }
};

export const LiveSaleDocument = document<LiveSaleSubscription, LiveSaleSubscriptionVariables>(
  'c090d6f67325ee5d1b1241085dab6e114c23c3ccf504167937cbebd40e21d2ff',
  "subscription LiveSale($voucherId: ID!) {\n  stockUpdates(voucherId: $voucherId) {\n    ...SaleState\n    __typename\n  }\n}\nfragment SaleState on FlashSale {\n  voucherId\n  stock\n  initialStock\n  beginsAt\n  endsAt\n  phase\n  __typename\n}",
)
