// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
export type ShopCardFragment = {
  readonly id: string,
  readonly name: string,
  readonly area: string | null,
  readonly address: string,
  readonly avgPrice: number | null,
  readonly score: number | null,
  readonly commentCount: number,
  readonly images: ReadonlyArray<{
    readonly thumbnailUrl: string,
    readonly width: number | null,
    readonly height: number | null
  }>,
  readonly type: {
    readonly id: string,
    readonly name: string
  }
};
