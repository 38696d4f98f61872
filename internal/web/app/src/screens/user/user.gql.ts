// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { document } from '@/api/document'
export type UserQueryVariables = Exact<{
  id: string;
}>;


export type UserQuery = {
  readonly user: {
    readonly id: string,
    readonly nickname: string,
    readonly avatarUrl: string | null,
    readonly level: number,
    readonly bio: string | null,
    readonly city: string | null,
    readonly noteCount: number,
    readonly followerCount: number,
    readonly followeeCount: number,
    readonly isFollowed: boolean,
    readonly commonFollowees: {
      readonly edges: ReadonlyArray<{
        readonly node: {
          readonly id: string,
          readonly nickname: string,
          readonly avatarUrl: string | null
        }
      }>,
      readonly pageInfo: {
        readonly hasNextPage: boolean,
        readonly endCursor: string | null
      }
    }
  } | null
};

export type UserNotesQueryVariables = Exact<{
  id: string;
  after?: string | null | undefined;
}>;


export type UserNotesQuery = {
  readonly user: {
    readonly id: string,
    readonly notes: {
      readonly edges: ReadonlyArray<{
        readonly node: {
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
        }
      }>,
      readonly pageInfo: {
        readonly hasNextPage: boolean,
        readonly endCursor: string | null
      }
    }
  } | null
};

export const UserDocument = document<UserQuery, UserQueryVariables>(
  '7dff6e5c232ce0278304c0d6ef10b50840549e2e4b4f20ff20171ae88ecff6c3',
  "query User($id: ID!) {\n  user(id: $id) {\n    id\n    nickname\n    avatarUrl\n    level\n    bio\n    city\n    noteCount\n    followerCount\n    followeeCount\n    isFollowed\n    commonFollowees(first: 3) {\n      edges {\n        node {\n          id\n          nickname\n          avatarUrl\n          __typename\n        }\n        __typename\n      }\n      pageInfo {\n        ...Page\n        __typename\n      }\n      __typename\n    }\n    __typename\n  }\n}\nfragment Page on PageInfo {\n  hasNextPage\n  endCursor\n  __typename\n}",
)

export const UserNotesDocument = document<UserNotesQuery, UserNotesQueryVariables>(
  'ffb1c60d28bc22ed665f3f5654934365a0c7de27392144ccdcb91a0c9ee896e8',
  "query UserNotes($id: ID!, $after: Cursor) {\n  user(id: $id) {\n    id\n    notes(first: 10, after: $after) {\n      edges {\n        node {\n          ...NoteCard\n          __typename\n        }\n        __typename\n      }\n      pageInfo {\n        ...Page\n        __typename\n      }\n      __typename\n    }\n    __typename\n  }\n}\nfragment NoteCard on Note {\n  id\n  title\n  content\n  likeCount\n  commentCount\n  isLiked\n  createdAt\n  images {\n    thumbnailUrl\n    width\n    height\n    __typename\n  }\n  author {\n    id\n    nickname\n    avatarUrl\n    __typename\n  }\n  shop {\n    id\n    name\n    __typename\n  }\n  __typename\n}\nfragment Page on PageInfo {\n  hasNextPage\n  endCursor\n  __typename\n}",
)
