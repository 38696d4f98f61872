import { useClient } from 'urql'

import { useApiMutation } from '@/api/useApiMutation'
import { withoutAuthor } from '@/feed/feed'
import { feedOf } from '@/feed/useFeed'
import { texts } from '@/i18n/texts'
import { useSession } from '@/session/session'
import { useSignInGuard } from '@/session/useSignInGuard'
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

/**
 * Follows or unfollows a user. It shows the change immediately and rolls back if rejected. It
 * renders nothing for the viewer's own profile.
 */
export function FollowButton({ user, small = false }: FollowButtonProps) {
  const t = useTexts()
  const session = useSession()
  const signedIn = useSignInGuard()
  const [follow] = useApiMutation(FollowDocument)
  const [unfollow] = useApiMutation(UnfollowDocument)
  const feed = feedOf(useClient())
  if (session?.userId === user.id) return null

  const toggle = async () => {
    if (!user.isFollowed) {
      await follow({ userId: user.id })
      return
    }
    const result = await unfollow({ userId: user.id })
    if (result.ok) feed.set(withoutAuthor(feed.get(), user.id))
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
        <span className="visually-hidden">
          {' '}
          <bdi>{user.nickname}</bdi>
        </span>
      </span>
    </Button>
  )
}
