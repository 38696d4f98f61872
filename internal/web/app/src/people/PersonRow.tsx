import { Link } from 'wouter'

import { useFormat } from '@/i18n/format'
import { texts } from '@/i18n/texts'
import { Avatar } from '@/ui/Avatar'

import type { PersonFragment } from './follow.gql'
import { FollowButton } from './FollowButton'
import css from './PersonRow.module.css'

const useTexts = texts(
  {
    followers: (n: number, formatted: string) =>
      n === 1 ? '1 follower' : `${formatted} followers`,
  },
  { followers: (_, formatted) => `${formatted} 位粉丝` },
)

/** A user in a list. */
export function PersonRow({ user }: { user: PersonFragment }) {
  const t = useTexts()
  const { number } = useFormat()
  return (
    <div className={css.row}>
      <Avatar user={user} size={44} />
      <div className={css.text}>
        <Link href={`/users/${user.id}`} className={css.name} dir="auto">
          {user.nickname}
        </Link>
        <p dir="auto">{user.bio ?? t.followers(user.followerCount, number(user.followerCount))}</p>
      </div>
      <FollowButton user={user} small />
    </div>
  )
}
