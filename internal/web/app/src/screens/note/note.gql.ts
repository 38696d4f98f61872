// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type * as Types from '../../api/types.gql';

import { document } from '@/api/document'
export type NoteQueryVariables = Exact<{
  id: string;
}>;


export type NoteQuery = {
  readonly note: {
    readonly id: string,
    readonly title: string,
    readonly content: string,
    readonly likeCount: number,
    readonly commentCount: number,
    readonly isLiked: boolean,
    readonly createdAt: string,
    readonly images: ReadonlyArray<{
      readonly url: string,
      readonly width: number | null,
      readonly height: number | null,
      readonly thumbnailUrl: string
    }>,
    readonly author: {
      readonly id: string,
      readonly nickname: string,
      readonly avatarUrl: string | null,
      readonly isFollowed: boolean,
      readonly city: string | null
    },
    readonly shop: {
      readonly id: string,
      readonly name: string,
      readonly area: string | null,
      readonly score: number | null,
      readonly images: ReadonlyArray<{
        readonly thumbnailUrl: string
      }>,
      readonly type: {
        readonly id: string,
        readonly name: string
      }
    },
    readonly firstLikers: ReadonlyArray<{
      readonly id: string,
      readonly nickname: string,
      readonly avatarUrl: string | null
    }>
  } | null
};

export type NoteShopFragment = {
  readonly id: string,
  readonly name: string,
  readonly area: string | null,
  readonly score: number | null,
  readonly images: ReadonlyArray<{
    readonly thumbnailUrl: string
  }>,
  readonly type: {
    readonly id: string,
    readonly name: string
  }
};

export type NoteViewerQueryVariables = Exact<{ [key: string]: never; }>;


export type NoteViewerQuery = {
  readonly me: {
    readonly id: string,
    readonly role: Types.Role | null
  } | null
};

export type CommentFragment = {
  readonly id: string,
  readonly content: string,
  readonly likeCount: number,
  readonly isLiked: boolean,
  readonly createdAt: string,
  readonly author: {
    readonly id: string,
    readonly nickname: string,
    readonly avatarUrl: string | null
  }
};

export type ReplyFragment = {
  readonly id: string,
  readonly content: string,
  readonly likeCount: number,
  readonly isLiked: boolean,
  readonly createdAt: string,
  readonly parent: {
    readonly id: string,
    readonly author: {
      readonly id: string,
      readonly nickname: string
    }
  } | null,
  readonly author: {
    readonly id: string,
    readonly nickname: string,
    readonly avatarUrl: string | null
  }
};

export type ThreadFragment = {
  readonly replyCount: number,
  readonly id: string,
  readonly content: string,
  readonly likeCount: number,
  readonly isLiked: boolean,
  readonly createdAt: string,
  readonly replies: {
    readonly edges: ReadonlyArray<{
      readonly node: {
        readonly id: string,
        readonly content: string,
        readonly likeCount: number,
        readonly isLiked: boolean,
        readonly createdAt: string,
        readonly parent: {
          readonly id: string,
          readonly author: {
            readonly id: string,
            readonly nickname: string
          }
        } | null,
        readonly author: {
          readonly id: string,
          readonly nickname: string,
          readonly avatarUrl: string | null
        }
      }
    }>
  },
  readonly author: {
    readonly id: string,
    readonly nickname: string,
    readonly avatarUrl: string | null
  }
};

export type CommentsQueryVariables = Exact<{
  noteId: string;
  after?: string | null | undefined;
}>;


export type CommentsQuery = {
  readonly note: {
    readonly id: string,
    readonly comments: {
      readonly edges: ReadonlyArray<{
        readonly node: {
          readonly replyCount: number,
          readonly id: string,
          readonly content: string,
          readonly likeCount: number,
          readonly isLiked: boolean,
          readonly createdAt: string,
          readonly replies: {
            readonly edges: ReadonlyArray<{
              readonly node: {
                readonly id: string,
                readonly content: string,
                readonly likeCount: number,
                readonly isLiked: boolean,
                readonly createdAt: string,
                readonly parent: {
                  readonly id: string,
                  readonly author: {
                    readonly id: string,
                    readonly nickname: string
                  }
                } | null,
                readonly author: {
                  readonly id: string,
                  readonly nickname: string,
                  readonly avatarUrl: string | null
                }
              }
            }>
          },
          readonly author: {
            readonly id: string,
            readonly nickname: string,
            readonly avatarUrl: string | null
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

export type RepliesQueryVariables = Exact<{
  commentId: string;
  after?: string | null | undefined;
}>;


export type RepliesQuery = {
  readonly node:
    | {
      readonly id: string,
      readonly replies: {
        readonly edges: ReadonlyArray<{
          readonly node: {
            readonly id: string,
            readonly content: string,
            readonly likeCount: number,
            readonly isLiked: boolean,
            readonly createdAt: string,
            readonly parent: {
              readonly id: string,
              readonly author: {
                readonly id: string,
                readonly nickname: string
              }
            } | null,
            readonly author: {
              readonly id: string,
              readonly nickname: string,
              readonly avatarUrl: string | null
            }
          }
        }>,
        readonly pageInfo: {
          readonly hasNextPage: boolean,
          readonly endCursor: string | null
        }
      }
    }
    | Record<PropertyKey, never>
   | null
};

export type AddCommentMutationVariables = Exact<{
  input: Types.AddCommentInput;
}>;


export type AddCommentMutation = {
  readonly addComment: {
    readonly comment: {
      readonly id: string,
      readonly content: string,
      readonly likeCount: number,
      readonly isLiked: boolean,
      readonly createdAt: string,
      readonly parent: {
        readonly id: string,
        readonly author: {
          readonly id: string,
          readonly nickname: string
        }
      } | null,
      readonly author: {
        readonly id: string,
        readonly nickname: string,
        readonly avatarUrl: string | null
      }
    } | null,
    readonly userErrors: ReadonlyArray<{
      readonly code: Types.ErrorCode,
      readonly message: string,
      readonly field: ReadonlyArray<string> | null,
      readonly retryAfterSeconds: number | null
    }>
  }
};

export type LikeCommentMutationVariables = Exact<{
  id: string;
}>;


export type LikeCommentMutation = {
  readonly likeComment: {
    readonly comment: {
      readonly id: string,
      readonly isLiked: boolean,
      readonly likeCount: number
    } | null,
    readonly userErrors: ReadonlyArray<{
      readonly code: Types.ErrorCode,
      readonly message: string,
      readonly field: ReadonlyArray<string> | null,
      readonly retryAfterSeconds: number | null
    }>
  }
};

export type UnlikeCommentMutationVariables = Exact<{
  id: string;
}>;


export type UnlikeCommentMutation = {
  readonly unlikeComment: {
    readonly comment: {
      readonly id: string,
      readonly isLiked: boolean,
      readonly likeCount: number
    } | null,
    readonly userErrors: ReadonlyArray<{
      readonly code: Types.ErrorCode,
      readonly message: string,
      readonly field: ReadonlyArray<string> | null,
      readonly retryAfterSeconds: number | null
    }>
  }
};

export type DeleteNoteMutationVariables = Exact<{
  id: string;
}>;


export type DeleteNoteMutation = {
  readonly deleteNote: {
    readonly deletedNoteId: string | null,
    readonly userErrors: ReadonlyArray<{
      readonly code: Types.ErrorCode,
      readonly message: string,
      readonly field: ReadonlyArray<string> | null,
      readonly retryAfterSeconds: number | null
    }>
  }
};

export const NoteDocument = document<NoteQuery, NoteQueryVariables>(
  '5296d0d9229f72577780ff37b1071ffc7bb55f2ae96035b28799c1e07f5ac877',
  "query Note($id: ID!) {\n  note(id: $id) {\n    id\n    title\n    content\n    likeCount\n    commentCount\n    isLiked\n    createdAt\n    images {\n      url\n      width\n      height\n      thumbnailUrl\n      __typename\n    }\n    author {\n      id\n      nickname\n      avatarUrl\n      isFollowed\n      city\n      __typename\n    }\n    shop {\n      ...NoteShop\n      __typename\n    }\n    firstLikers(first: 8) {\n      id\n      nickname\n      avatarUrl\n      __typename\n    }\n    __typename\n  }\n}\nfragment NoteShop on Shop {\n  id\n  name\n  area\n  score\n  images {\n    thumbnailUrl\n    __typename\n  }\n  type {\n    id\n    name\n    __typename\n  }\n  __typename\n}",
)

export const NoteViewerDocument = document<NoteViewerQuery, NoteViewerQueryVariables>(
  'a3a84520976c4e55abe9dc26d5573fcb60434015b06ee107a5af63149d0d4d56',
  "query NoteViewer {\n  me {\n    id\n    role\n    __typename\n  }\n}",
)

export const CommentsDocument = document<CommentsQuery, CommentsQueryVariables>(
  '51ddcfd56dcba595f1b911eadb47b0d2e4e39ce3f84d7c16f263a8101a7d83ff',
  "query Comments($noteId: ID!, $after: Cursor) {\n  note(id: $noteId) {\n    id\n    comments(first: 20, after: $after) {\n      edges {\n        node {\n          ...Thread\n          __typename\n        }\n        __typename\n      }\n      pageInfo {\n        ...Page\n        __typename\n      }\n      __typename\n    }\n    __typename\n  }\n}\nfragment Thread on Comment {\n  ...Comment\n  replyCount\n  replies(first: 2) {\n    edges {\n      node {\n        ...Reply\n        __typename\n      }\n      __typename\n    }\n    __typename\n  }\n  __typename\n}\nfragment Comment on Comment {\n  id\n  content\n  likeCount\n  isLiked\n  createdAt\n  author {\n    id\n    nickname\n    avatarUrl\n    __typename\n  }\n  __typename\n}\nfragment Reply on Comment {\n  ...Comment\n  parent {\n    id\n    author {\n      id\n      nickname\n      __typename\n    }\n    __typename\n  }\n  __typename\n}\nfragment Page on PageInfo {\n  hasNextPage\n  endCursor\n  __typename\n}",
)

export const RepliesDocument = document<RepliesQuery, RepliesQueryVariables>(
  '530a6af601cca35f7593bb355fe796ccb78f2e11adbf86f63ba2e71fffa10730',
  "query Replies($commentId: ID!, $after: Cursor) {\n  node(id: $commentId) {\n    ... on Comment {\n      id\n      replies(first: 20, after: $after) {\n        edges {\n          node {\n            ...Reply\n            __typename\n          }\n          __typename\n        }\n        pageInfo {\n          ...Page\n          __typename\n        }\n        __typename\n      }\n      __typename\n    }\n    __typename\n  }\n}\nfragment Reply on Comment {\n  ...Comment\n  parent {\n    id\n    author {\n      id\n      nickname\n      __typename\n    }\n    __typename\n  }\n  __typename\n}\nfragment Comment on Comment {\n  id\n  content\n  likeCount\n  isLiked\n  createdAt\n  author {\n    id\n    nickname\n    avatarUrl\n    __typename\n  }\n  __typename\n}\nfragment Page on PageInfo {\n  hasNextPage\n  endCursor\n  __typename\n}",
)

export const AddCommentDocument = document<AddCommentMutation, AddCommentMutationVariables>(
  '1a9ba8a4437dc48a7c33320407dd3ff338181c8f1ba4205f9de930e9da13befc',
  "mutation AddComment($input: AddCommentInput!) {\n  addComment(input: $input) {\n    comment {\n      ...Reply\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment Reply on Comment {\n  ...Comment\n  parent {\n    id\n    author {\n      id\n      nickname\n      __typename\n    }\n    __typename\n  }\n  __typename\n}\nfragment Comment on Comment {\n  id\n  content\n  likeCount\n  isLiked\n  createdAt\n  author {\n    id\n    nickname\n    avatarUrl\n    __typename\n  }\n  __typename\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  retryAfterSeconds\n  __typename\n}",
)

export const LikeCommentDocument = document<LikeCommentMutation, LikeCommentMutationVariables>(
  'dd250a8a8f2c217fc5c0e938e8deeb8b16f5d64c299cbb7b4fc0b2cf997ff663',
  "mutation LikeComment($id: ID!) {\n  likeComment(id: $id) {\n    comment {\n      id\n      isLiked\n      likeCount\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  retryAfterSeconds\n  __typename\n}",
)

export const UnlikeCommentDocument = document<UnlikeCommentMutation, UnlikeCommentMutationVariables>(
  '5160c1f7ab750d53cfc66b529bbd96b7aa286a0219d44709957dfd66ba03f07e',
  "mutation UnlikeComment($id: ID!) {\n  unlikeComment(id: $id) {\n    comment {\n      id\n      isLiked\n      likeCount\n      __typename\n    }\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  retryAfterSeconds\n  __typename\n}",
)

export const DeleteNoteDocument = document<DeleteNoteMutation, DeleteNoteMutationVariables>(
  '53404f4b75ef18e78f50e65ee91cdeeb9cde19b87f6a2ab6f728c1b6a4d8a9c9',
  "mutation DeleteNote($id: ID!) {\n  deleteNote(id: $id) {\n    deletedNoteId\n    userErrors {\n      ...Refused\n      __typename\n    }\n    __typename\n  }\n}\nfragment Refused on UserError {\n  code\n  message\n  field\n  retryAfterSeconds\n  __typename\n}",
)
