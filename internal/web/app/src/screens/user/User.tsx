import { MapPin } from 'lucide-react'
import { Link } from 'wouter'

import { errorCode } from '@/api/errors'
import { useApiQuery } from '@/api/useApiQuery'
import { useFormat } from '@/i18n/format'
import { isolate } from '@/i18n/isolate'
import { texts } from '@/i18n/texts'
import { NoteCard } from '@/notes/NoteCard'
import { FollowButton } from '@/people/FollowButton'
import { NotFound } from '@/screens/notfound/NotFound'
import { useSession } from '@/session/session'
import { Avatar } from '@/ui/Avatar'
import { ButtonLink } from '@/ui/Button'
import { Pages } from '@/ui/Pages'
import { Screen } from '@/ui/Screen'
import { Skeleton } from '@/ui/Skeleton'
import { EmptyState, ErrorState } from '@/ui/State'

import { UserDocument, UserNotesDocument, type UserQuery } from './user.gql'
import css from './User.module.css'

const useTexts = texts(
  {
    title: 'Profile',
    level: (n: number) => `Level ${n}`,
    notes: 'Notes',
    followers: 'Followers',
    followees: 'Following',
    edit: 'Edit profile',
    common: 'You both follow',
    others: 'and others',
    and: 'and',
    comma: ', ',
    none: 'No notes yet',
    write: 'Write your first note',
  },
  {
    title: '个人主页',
    level: (n) => `Lv.${n}`,
    notes: '笔记',
    followers: '粉丝',
    followees: '关注',
    edit: '编辑资料',
    common: '你们都关注了',
    others: '等人',
    and: '和',
    comma: '、',
    none: '还没有笔记。',
    write: '写第一篇笔记',
  },
)

/** A user's profile and notes. */
export function User({ id }: { id: string }) {
  const t = useTexts()
  const session = useSession()
  const [{ data, error }, refetch] = useApiQuery({ query: UserDocument, variables: { id } })

  if (data?.user === null || (error && errorCode(error) === 'BAD_USER_INPUT')) return <NotFound />
  if (!data?.user) {
    return (
      <Screen title={t.title} backTo="/">
        {error ? (
          <ErrorState error={error} onRetry={() => refetch({ requestPolicy: 'network-only' })} />
        ) : (
          <Skeleton shape="row" count={2} />
        )}
      </Screen>
    )
  }
  const mine = session?.userId === id
  return (
    <Screen title={data.user.nickname} backTo="/">
      <div className={css.columns}>
        <Person user={data.user} mine={mine} />
        <section className={css.notes} aria-labelledby="notes">
          <h2 id="notes">{t.notes}</h2>
          <Pages
            name="notes"
            document={UserNotesDocument}
            variables={{ id }}
            connection={({ user }) => user?.notes}
            className={css.list}
            loading={<Skeleton shape="card" count={2} />}
            empty={
              <EmptyState title={t.none}>
                {mine && <ButtonLink href="/publish">{t.write}</ButtonLink>}
              </EmptyState>
            }
            showEnd
          >
            {({ node }, i) => <NoteCard note={node} eager={i === 0} />}
          </Pages>
        </section>
      </div>
    </Screen>
  )
}

type Shown = NonNullable<UserQuery['user']>

function Person({ user, mine }: { user: Shown; mine: boolean }) {
  const t = useTexts()
  const { number } = useFormat()
  const at = `/users/${user.id}`
  return (
    <div className={css.person}>
      <div className={css.top}>
        <Avatar user={user} size={80} />
        <p className={css.facts}>
          <span className={css.level}>{t.level(user.level)}</span>
          {user.city !== null && (
            <span className={css.city}>
              <MapPin aria-hidden="true" size={16} /> <bdi>{user.city}</bdi>
            </span>
          )}
        </p>
        {mine ? (
          <ButtonLink kind="quiet" small href="/me/edit">
            {t.edit}
          </ButtonLink>
        ) : (
          <FollowButton user={user} />
        )}
      </div>
      {user.bio !== null && (
        <p className={css.bio} dir="auto">
          {user.bio}
        </p>
      )}
      <ul className={css.counts}>
        <li className={css.count}>
          <strong>{number(user.noteCount)}</strong> {t.notes}
        </li>
        <li>
          <Link href={`${at}/followers`} className={css.count}>
            <strong>{number(user.followerCount)}</strong> {t.followers}
          </Link>
        </li>
        <li>
          <Link href={`${at}/followees`} className={css.count}>
            <strong>{number(user.followeeCount)}</strong> {t.followees}
          </Link>
        </li>
      </ul>
      {!mine && <Common user={user} />}
    </div>
  )
}

/** Users that the viewer follows too; none when signed out. */
function Common({ user: { id, commonFollowees } }: { user: Shown }) {
  const t = useTexts()
  const people = commonFollowees.edges.map(({ node }) => node)
  if (people.length === 0) return null
  const names = people.map(({ nickname }) => isolate(nickname))
  const more = commonFollowees.pageInfo.hasNextPage
  const last = more || names.length < 2 ? '' : ` ${t.and} ${names.pop() ?? ''}`
  return (
    <Link href={`/users/${id}/common`} className={css.common}>
      <span className={css.faces}>
        {people.map((user) => (
          <span key={user.id}>
            <Avatar user={user} size={28} />
          </span>
        ))}
      </span>
      <span>
        {t.common} {names.join(t.comma)}
        {more ? ` ${t.others}` : last}
      </span>
    </Link>
  )
}
