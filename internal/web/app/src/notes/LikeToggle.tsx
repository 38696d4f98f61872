import { Heart } from 'lucide-react'

import { useFormat } from '@/i18n/format'
import { useSignedIn } from '@/session/useSignedIn'

import css from './LikeButton.module.css'

interface LikeToggleProps {
  /** What is liked, for those who hear. */
  readonly label: string
  readonly liked: boolean
  readonly count: number
  /** Only who is signed in comes here. */
  readonly onToggle: () => void
}

/** A heart with a count, pressed for who likes it. */
export function LikeToggle({ label, liked, count, onToggle }: LikeToggleProps) {
  const { number } = useFormat()
  const signedIn = useSignedIn()
  return (
    <button
      type="button"
      className={css.like}
      aria-pressed={liked}
      onClick={() => {
        if (signedIn()) onToggle()
      }}
    >
      <Heart aria-hidden="true" size={20} fill={liked ? 'currentColor' : 'none'} />
      <span className="unseen">{label}</span> <span>{number(count)}</span>
    </button>
  )
}
