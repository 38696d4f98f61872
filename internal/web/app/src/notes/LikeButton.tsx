import { useApiMutation } from '@/api/useApiMutation'
import { isolate } from '@/i18n/isolate'
import { texts } from '@/i18n/texts'

import { LikeNoteDocument, UnlikeNoteDocument } from './like.gql'
import { LikeToggle } from './LikeToggle'

const useTexts = texts(
  { like: (title: string) => `Like “${title}”` },
  { like: (title) => `点赞“${title}”` },
)

interface LikeButtonProps {
  readonly note: {
    readonly id: string
    readonly title: string
    readonly isLiked: boolean
    readonly likeCount: number
  }
}

/** Likes or unlikes a note. It shows the change immediately and rolls back if rejected. */
export function LikeButton({ note }: LikeButtonProps) {
  const t = useTexts()
  const [like] = useApiMutation(LikeNoteDocument)
  const [unlike] = useApiMutation(UnlikeNoteDocument)
  return (
    <LikeToggle
      label={t.like(isolate(note.title))}
      liked={note.isLiked}
      count={note.likeCount}
      onToggle={() => void (note.isLiked ? unlike : like)({ id: note.id })}
    />
  )
}
