// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { document } from '@/api/document'
export type AdminGaugesQueryVariables = Exact<{ [key: string]: never; }>;


export type AdminGaugesQuery = {
  readonly serverTime: string,
  readonly cacheStats: ReadonlyArray<{
    readonly name: string,
    readonly localHits: number,
    readonly remoteHits: number,
    readonly misses: number,
    readonly loads: number,
    readonly loadErrors: number,
    readonly staleServed: number,
    readonly hitRatio: number
  }>,
  readonly hotKeys: ReadonlyArray<{
    readonly key: string,
    readonly hits: number
  }>,
  readonly queueStats: ReadonlyArray<{
    readonly name: string,
    readonly lag: number,
    readonly pending: number,
    readonly oldestSeconds: number,
    readonly parked: number
  }>
};

export type AdminFiguresQueryVariables = Exact<{
  from: string;
  to: string;
}>;


export type AdminFiguresQuery = {
  readonly siteStats: ReadonlyArray<{
    readonly date: string | null,
    readonly uniqueVisitors: number,
    readonly views: number
  }>,
  readonly salesByDay: ReadonlyArray<{
    readonly date: string,
    readonly orders: number,
    readonly paid: number,
    readonly amount: number
  }>
};

export const AdminGaugesDocument = document<AdminGaugesQuery, AdminGaugesQueryVariables>(
  '42490e9f97a3c61538b08552e508cc35ee6b0185b8a54d8dc1e48958bd1ae054',
  "query AdminGauges {\n  serverTime\n  cacheStats {\n    name\n    localHits\n    remoteHits\n    misses\n    loads\n    loadErrors\n    staleServed\n    hitRatio\n    __typename\n  }\n  hotKeys(top: 20) {\n    key\n    hits\n    __typename\n  }\n  queueStats {\n    name\n    lag\n    pending\n    oldestSeconds\n    parked\n    __typename\n  }\n}",
)

export const AdminFiguresDocument = document<AdminFiguresQuery, AdminFiguresQueryVariables>(
  '1e3b50ce7b0cd836e4e3f83520fd52aecac3d69679c3d5d55511676a5adb76b0',
  "query AdminFigures($from: Date!, $to: Date!) {\n  siteStats(from: $from, to: $to) {\n    date\n    uniqueVisitors\n    views\n    __typename\n  }\n  salesByDay(from: $from, to: $to) {\n    date\n    orders\n    paid\n    amount\n    __typename\n  }\n}",
)
