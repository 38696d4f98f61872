import type { TypedDocumentNode } from 'urql'

import { errorCode } from '@/api/errors'
import { useApiQuery } from '@/api/useApiQuery'
import { isolate } from '@/i18n/isolate'
import { texts } from '@/i18n/texts'
import { PersonRow } from '@/people/PersonRow'
import { NotFound } from '@/screens/notfound/NotFound'
import { Pages } from '@/ui/Pages'
import { Screen } from '@/ui/Screen'
import { Skeleton } from '@/ui/Skeleton'
import { EmptyState } from '@/ui/State'

import {
  CommonFolloweesDocument,
  FolloweesDocument,
  FollowersDocument,
  UserNameDocument,
  type FollowersQuery,
  type FollowersQueryVariables,
} from './people.gql'
import css from './People.module.css'

const useTexts = texts(
  {
    followers: (name: string) => `${name}’s followers`,
    followees: (name: string) => `People ${name} follows`,
    common: (name: string) => `Followed by you and ${name}`,
    none: 'No one here yet',
    unknown: '…',
  },
  {
    followers: (name) => `${name} 的粉丝`,
    followees: (name) => `${name} 的关注`,
    common: (name) => `你和 ${name} 的共同关注`,
    none: '还没有人。',
    unknown: '…',
  },
)

type Document = TypedDocumentNode<FollowersQuery, FollowersQueryVariables>

const documents: Record<'followers' | 'followees' | 'common', Document> = {
  followers: FollowersDocument,
  followees: FolloweesDocument,
  common: CommonFolloweesDocument,
}

/** Followers, followees or common followees of a user. */
export function People({ id, list }: { id: string; list: string }) {
  const t = useTexts()
  const [{ data, error }] = useApiQuery({ query: UserNameDocument, variables: { id } })
  const known = list === 'followers' || list === 'followees' || list === 'common'
  if (!known || data?.user === null || (error && errorCode(error) === 'BAD_USER_INPUT')) {
    return <NotFound />
  }
  return (
    <Screen title={t[list](isolate(data?.user?.nickname ?? t.unknown))} backTo={`/users/${id}`}>
      <div className={css.people}>
        <Pages
          name={list}
          document={documents[list]}
          variables={{ id }}
          connection={({ user }) => user?.people}
          loading={<Skeleton shape="row" count={4} />}
          empty={<EmptyState title={t.none} />}
          className={css.list}
        >
          {({ node }) => <PersonRow user={node} />}
        </Pages>
      </div>
    </Screen>
  )
}
