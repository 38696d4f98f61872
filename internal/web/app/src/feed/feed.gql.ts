// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { document } from '@/api/document'
export type FeedQueryVariables = Exact<{
  after?: string | null | undefined;
}>;


export type FeedQuery = {
  readonly me: {
    readonly id: string,
    readonly followeeCount: number,
    readonly feed: {
      readonly liveCursor: string,
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
    } | null
  } | null
};

export type FeedStartQueryVariables = Exact<{ [key: string]: never; }>;


export type FeedStartQuery = {
  readonly me: {
    readonly id: string,
    readonly feed: {
      readonly liveCursor: string
    } | null
  } | null
};

export type FeedNotesQueryVariables = Exact<{
  ids: ReadonlyArray<string> | string;
}>;


export type FeedNotesQuery = {
  readonly nodes: ReadonlyArray<
    | {
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
    | Record<PropertyKey, never>
   | null>
};

export type FeedUpdatesSubscriptionVariables = Exact<{
  after?: string | null | undefined;
}>;


export type FeedUpdatesSubscription = {
  readonly feedUpdates:
    | {
      readonly __typename: 'FeedNoteAdded',
      readonly cursor: string,
      readonly note: {
        readonly id: string,
        readonly createdAt: string,
        readonly author: {
          readonly id: string
        }
      }
    }
    | {
      readonly __typename: 'FeedNoteRemoved',
      readonly cursor: string,
      readonly noteId: string
    }
    | {
      readonly __typename: 'FeedReady',
      readonly cursor: string
    }
    | {
      readonly __typename: 'FeedResync',
      readonly cursor: string
    }

};

export type SuggestionsQueryVariables = Exact<{ [key: string]: never; }>;


export type SuggestionsQuery = {
  readonly hotNotes: {
    readonly edges: ReadonlyArray<{
      readonly node: {
        readonly id: string,
        readonly author: {
          readonly id: string,
          readonly nickname: string,
          readonly avatarUrl: string | null,
          readonly bio: string | null,
          readonly isFollowed: boolean,
          readonly followerCount: number
        }
      }
    }>
  }
};

export const FeedDocument = document<FeedQuery, FeedQueryVariables>(
  '7380ed4793d56dd34f7b63013d956973da865357fc2fd9f161a4318c421b546e',
  "query Feed($after: Cursor) {\n  me {\n    id\n    followeeCount\n    feed(first: 10, after: $after) {\n      liveCursor\n      edges {\n        node {\n          ...NoteCard\n          __typename\n        }\n        __typename\n      }\n      pageInfo {\n        ...Page\n        __typename\n      }\n      __typename\n    }\n    __typename\n  }\n}\nfragment NoteCard on Note {\n  id\n  title\n  content\n  likeCount\n  commentCount\n  isLiked\n  createdAt\n  images {\n    thumbnailUrl\n    width\n    height\n    __typename\n  }\n  author {\n    id\n    nickname\n    avatarUrl\n    __typename\n  }\n  shop {\n    id\n    name\n    __typename\n  }\n  __typename\n}\nfragment Page on PageInfo {\n  hasNextPage\n  endCursor\n  __typename\n}",
)

export const FeedStartDocument = document<FeedStartQuery, FeedStartQueryVariables>(
  '4fcff63e363088c17f0ae5d79293689501202dc34dc29f9847751343a2b5ae74',
  "query FeedStart {\n  me {\n    id\n    feed(first: 1) {\n      liveCursor\n      __typename\n    }\n    __typename\n  }\n}",
)

export const FeedNotesDocument = document<FeedNotesQuery, FeedNotesQueryVariables>(
  '8747661e0580fd27244184dd308bb1e3635121d1fff39d659eda6b5d26247ee4',
  "query FeedNotes($ids: [ID!]!) {\n  nodes(ids: $ids) {\n    ...NoteCard\n    __typename\n  }\n}\nfragment NoteCard on Note {\n  id\n  title\n  content\n  likeCount\n  commentCount\n  isLiked\n  createdAt\n  images {\n    thumbnailUrl\n    width\n    height\n    __typename\n  }\n  author {\n    id\n    nickname\n    avatarUrl\n    __typename\n  }\n  shop {\n    id\n    name\n    __typename\n  }\n  __typename\n}",
)

export const FeedUpdatesDocument = document<FeedUpdatesSubscription, FeedUpdatesSubscriptionVariables>(
  '18b49af81e094dc24b07404e81912cb6b02fdb4913b6eba0a5ace6dbe4635c54',
  "subscription FeedUpdates($after: Cursor) {\n  feedUpdates(after: $after) {\n    __typename\n    ... on FeedNoteAdded {\n      cursor\n      note {\n        id\n        createdAt\n        author {\n          id\n          __typename\n        }\n        __typename\n      }\n      __typename\n    }\n    ... on FeedNoteRemoved {\n      cursor\n      noteId\n      __typename\n    }\n    ... on FeedReady {\n      cursor\n      __typename\n    }\n    ... on FeedResync {\n      cursor\n      __typename\n    }\n  }\n}",
)

export const SuggestionsDocument = document<SuggestionsQuery, SuggestionsQueryVariables>(
  'f5c1c9b8f4ebda92a5101162186b453d2366149fa37acd383220654798f17485',
  "query Suggestions {\n  hotNotes(first: 20) {\n    edges {\n      node {\n        id\n        author {\n          ...Person\n          __typename\n        }\n        __typename\n      }\n      __typename\n    }\n    __typename\n  }\n}\nfragment Person on User {\n  id\n  nickname\n  avatarUrl\n  bio\n  isFollowed\n  followerCount\n  __typename\n}",
)
