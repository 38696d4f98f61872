// Written by scripts/codegen.mjs; do not edit.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { document } from '@/api/document'
export type UserNameQueryVariables = Exact<{
  id: string;
}>;


export type UserNameQuery = {
  readonly user: {
    readonly id: string,
    readonly nickname: string
  } | null
};

export type FollowersQueryVariables = Exact<{
  id: string;
  after?: string | null | undefined;
}>;


export type FollowersQuery = {
  readonly user: {
    readonly id: string,
    readonly people: {
      readonly edges: ReadonlyArray<{
        readonly node: {
          readonly id: string,
          readonly nickname: string,
          readonly avatarUrl: string | null,
          readonly bio: string | null,
          readonly isFollowed: boolean,
          readonly followerCount: number
        }
      }>,
      readonly pageInfo: {
        readonly hasNextPage: boolean,
        readonly endCursor: string | null
      }
    }
  } | null
};

export type FolloweesQueryVariables = Exact<{
  id: string;
  after?: string | null | undefined;
}>;


export type FolloweesQuery = {
  readonly user: {
    readonly id: string,
    readonly people: {
      readonly edges: ReadonlyArray<{
        readonly node: {
          readonly id: string,
          readonly nickname: string,
          readonly avatarUrl: string | null,
          readonly bio: string | null,
          readonly isFollowed: boolean,
          readonly followerCount: number
        }
      }>,
      readonly pageInfo: {
        readonly hasNextPage: boolean,
        readonly endCursor: string | null
      }
    }
  } | null
};

export type CommonFolloweesQueryVariables = Exact<{
  id: string;
  after?: string | null | undefined;
}>;


export type CommonFolloweesQuery = {
  readonly user: {
    readonly id: string,
    readonly people: {
      readonly edges: ReadonlyArray<{
        readonly node: {
          readonly id: string,
          readonly nickname: string,
          readonly avatarUrl: string | null,
          readonly bio: string | null,
          readonly isFollowed: boolean,
          readonly followerCount: number
        }
      }>,
      readonly pageInfo: {
        readonly hasNextPage: boolean,
        readonly endCursor: string | null
      }
    }
  } | null
};

export type PeoplePageFragment = {
  readonly edges: ReadonlyArray<{
    readonly node: {
      readonly id: string,
      readonly nickname: string,
      readonly avatarUrl: string | null,
      readonly bio: string | null,
      readonly isFollowed: boolean,
      readonly followerCount: number
    }
  }>,
  readonly pageInfo: {
    readonly hasNextPage: boolean,
    readonly endCursor: string | null
  }
};

export const UserNameDocument = document<UserNameQuery, UserNameQueryVariables>(
  'af3746082cd8b5f39466adb700ad99eaa39a28ef79018c06869851d8c8650390',
  "query UserName($id: ID!) {\n  user(id: $id) {\n    id\n    nickname\n    __typename\n  }\n}",
)

export const FollowersDocument = document<FollowersQuery, FollowersQueryVariables>(
  '0c7d6faa79f115400cc5988b27a11979a7c26e8af80fd9cf6a14604348a36946',
  "query Followers($id: ID!, $after: Cursor) {\n  user(id: $id) {\n    id\n    people: followers(first: 20, after: $after) {\n      ...PeoplePage\n      __typename\n    }\n    __typename\n  }\n}\nfragment PeoplePage on UserConnection {\n  edges {\n    node {\n      ...Person\n      __typename\n    }\n    __typename\n  }\n  pageInfo {\n    ...Page\n    __typename\n  }\n  __typename\n}\nfragment Person on User {\n  id\n  nickname\n  avatarUrl\n  bio\n  isFollowed\n  followerCount\n  __typename\n}\nfragment Page on PageInfo {\n  hasNextPage\n  endCursor\n  __typename\n}",
)

export const FolloweesDocument = document<FolloweesQuery, FolloweesQueryVariables>(
  '53eddcc57e406491c723274d062b66c66894b18ba88824322a071a16e4051aba',
  "query Followees($id: ID!, $after: Cursor) {\n  user(id: $id) {\n    id\n    people: followees(first: 20, after: $after) {\n      ...PeoplePage\n      __typename\n    }\n    __typename\n  }\n}\nfragment PeoplePage on UserConnection {\n  edges {\n    node {\n      ...Person\n      __typename\n    }\n    __typename\n  }\n  pageInfo {\n    ...Page\n    __typename\n  }\n  __typename\n}\nfragment Person on User {\n  id\n  nickname\n  avatarUrl\n  bio\n  isFollowed\n  followerCount\n  __typename\n}\nfragment Page on PageInfo {\n  hasNextPage\n  endCursor\n  __typename\n}",
)

export const CommonFolloweesDocument = document<CommonFolloweesQuery, CommonFolloweesQueryVariables>(
  'dd69e3e9b4751864266507ad930d9ab2e58808bada5fcecee69fc1c184639ba5',
  "query CommonFollowees($id: ID!, $after: Cursor) {\n  user(id: $id) {\n    id\n    people: commonFollowees(first: 20, after: $after) {\n      ...PeoplePage\n      __typename\n    }\n    __typename\n  }\n}\nfragment PeoplePage on UserConnection {\n  edges {\n    node {\n      ...Person\n      __typename\n    }\n    __typename\n  }\n  pageInfo {\n    ...Page\n    __typename\n  }\n  __typename\n}\nfragment Person on User {\n  id\n  nickname\n  avatarUrl\n  bio\n  isFollowed\n  followerCount\n  __typename\n}\nfragment Page on PageInfo {\n  hasNextPage\n  endCursor\n  __typename\n}",
)
