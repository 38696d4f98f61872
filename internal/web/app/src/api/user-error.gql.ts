// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type * as Types from './types.gql';

export type RefusedFragment = {
  readonly code: Types.ErrorCode,
  readonly message: string,
  readonly field: ReadonlyArray<string> | null,
  readonly retryAfterSeconds: number | null
};
