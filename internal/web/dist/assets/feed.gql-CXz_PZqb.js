import{t as e}from"./document-D_a4HVPm.js";var t=e(`ddefa7502000c222e205e8d2888f4756ab424d446b110df9489904af1d02f06f`,`query Feed($after: Cursor) {
  me {
    id
    followeeCount
    feed(first: 10, after: $after) {
      liveCursor
      edges {
        node {
          ...NoteCard
          __typename
        }
        __typename
      }
      pageInfo {
        ...Page
        __typename
      }
      __typename
    }
    __typename
  }
}
fragment NoteCard on Note {
  id
  title
  content
  likeCount
  commentCount
  isLiked
  isSaved
  createdAt
  images {
    thumbnailUrl
    width
    height
    __typename
  }
  author {
    id
    nickname
    avatarUrl
    __typename
  }
  shop {
    id
    name
    __typename
  }
  authorRating {
    stars
    __typename
  }
  __typename
}
fragment Page on PageInfo {
  hasNextPage
  endCursor
  __typename
}`),n=e(`4fcff63e363088c17f0ae5d79293689501202dc34dc29f9847751343a2b5ae74`,`query FeedStart {
  me {
    id
    feed(first: 1) {
      liveCursor
      __typename
    }
    __typename
  }
}`),r=e(`b1c83712815a47b577e02e727de76e9c8737786920069d5e80a500566216875c`,`query FeedNotes($ids: [ID!]!) {
  nodes(ids: $ids) {
    ...NoteCard
    __typename
  }
}
fragment NoteCard on Note {
  id
  title
  content
  likeCount
  commentCount
  isLiked
  isSaved
  createdAt
  images {
    thumbnailUrl
    width
    height
    __typename
  }
  author {
    id
    nickname
    avatarUrl
    __typename
  }
  shop {
    id
    name
    __typename
  }
  authorRating {
    stars
    __typename
  }
  __typename
}`),i=e(`18b49af81e094dc24b07404e81912cb6b02fdb4913b6eba0a5ace6dbe4635c54`,`subscription FeedUpdates($after: Cursor) {
  feedUpdates(after: $after) {
    __typename
    ... on FeedNoteAdded {
      cursor
      note {
        id
        createdAt
        author {
          id
          __typename
        }
        __typename
      }
      __typename
    }
    ... on FeedNoteRemoved {
      cursor
      noteId
      __typename
    }
    ... on FeedReady {
      cursor
      __typename
    }
    ... on FeedResync {
      cursor
      __typename
    }
  }
}`),a=e(`f5c1c9b8f4ebda92a5101162186b453d2366149fa37acd383220654798f17485`,`query Suggestions {
  hotNotes(first: 20) {
    edges {
      node {
        id
        author {
          ...Person
          __typename
        }
        __typename
      }
      __typename
    }
    __typename
  }
}
fragment Person on User {
  id
  nickname
  avatarUrl
  bio
  isFollowed
  followerCount
  __typename
}`);export{a,i,r as n,n as r,t};