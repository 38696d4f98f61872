import { Heart } from 'lucide-react'

import { useDo } from '@/api/useDo'
import { useFormat } from '@/i18n/format'
import { texts } from '@/i18n/texts'
import { useSignedIn } from '@/session/useSignedIn'

import { LikeNoteDocument, UnlikeNoteDocument } from './like.gql'
import css from './LikeButton.module.css'

const useTexts = texts(
  { like: (title: string) => `Like “${title}”` },
  { like: (title) => `点赞「${title}」` },
)

interface LikeButtonProps {
  readonly note: {
    readonly id: string
    readonly title: string
    readonly isLiked: boolean
    readonly likeCount: number
  }
}

/** Likes a note, or takes the like back. It shows at once; a refusal takes it back. */
export function LikeButton({ note }: LikeButtonProps) {
  const t = useTexts()
  const { number } = useFormat()
  const signedIn = useSignedIn()
  const [like] = useDo(LikeNoteDocument)
  const [unlike] = useDo(UnlikeNoteDocument)
  return (
    <button
      type="button"
      className={css.like}
      aria-pressed={note.isLiked}
      onClick={() => {
        if (signedIn()) void (note.isLiked ? unlike : like)({ id: note.id })
      }}
    >
      <Heart aria-hidden="true" size={20} fill={note.isLiked ? 'currentColor' : 'none'} />
      <span className="unseen">{t.like(note.title)}</span>
      <span>{number(note.likeCount)}</span>
    </button>
  )
}
