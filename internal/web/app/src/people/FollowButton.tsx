import { useClient } from 'urql'

import { useDo } from '@/api/useDo'
import { unfollowed } from '@/feed/feed'
import { feedOf } from '@/feed/useFeed'
import { texts } from '@/i18n/texts'
import { useSession } from '@/session/session'
import { useSignedIn } from '@/session/useSignedIn'
import { Button } from '@/ui/Button'

import { FollowDocument, UnfollowDocument } from './follow.gql'

const useTexts = texts(
  {
    follow: 'Follow',
    followed: 'Following',
  },
  { follow: '关注', followed: '已关注' },
)

interface FollowButtonProps {
  readonly user: { readonly id: string; readonly nickname: string; readonly isFollowed: boolean }
  readonly small?: boolean
}

/** Follows somebody, or ends it. It shows at once; a refusal takes it back. Nobody follows himself. */
export function FollowButton({ user, small = false }: FollowButtonProps) {
  const t = useTexts()
  const session = useSession()
  const signedIn = useSignedIn()
  const [follow] = useDo(FollowDocument)
  const [unfollow] = useDo(UnfollowDocument)
  const feed = feedOf(useClient())
  if (session?.userId === user.id) return null

  const toggle = async () => {
    if (!user.isFollowed) {
      await follow({ userId: user.id })
      return
    }
    const done = await unfollow({ userId: user.id })
    if (done.ok) feed.set(unfollowed(feed.get(), user.id))
  }
  return (
    <Button
      small={small}
      kind={user.isFollowed ? 'quiet' : 'primary'}
      aria-pressed={user.isFollowed}
      onClick={() => {
        if (signedIn()) void toggle()
      }}
    >
      <span>
        {user.isFollowed ? t.followed : t.follow}
        <span className="unseen">
          {' '}
          <bdi>{user.nickname}</bdi>
        </span>
      </span>
    </Button>
  )
}
