// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { document } from '@/api/document'
export type ServerTodayQueryVariables = Exact<{ [key: string]: never; }>;


export type ServerTodayQuery = {
  readonly me: {
    readonly id: string,
    readonly checkIns: {
      readonly today: string
    } | null
  } | null
};

export const ServerTodayDocument = document<ServerTodayQuery, ServerTodayQueryVariables>(
  'adb3f967da84bf71294d199997302bdb20243223c32120883f57175f31b54086',
  "query ServerToday {\n  me {\n    id\n    checkIns {\n      today\n      __typename\n    }\n    __typename\n  }\n}",
)
