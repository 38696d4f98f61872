// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
export type NoteCardFragment = {
  readonly id: string,
  readonly title: string,
  readonly content: string,
  readonly likeCount: number,
  readonly commentCount: number,
  readonly isLiked: boolean,
  readonly createdAt: string,
  readonly images: ReadonlyArray<{
    readonly thumbnailUrl: string,
    readonly width: number | null,
    readonly height: number | null
  }>,
  readonly author: {
    readonly id: string,
    readonly nickname: string,
    readonly avatarUrl: string | null
  },
  readonly shop: {
    readonly id: string,
    readonly name: string
  }
};
