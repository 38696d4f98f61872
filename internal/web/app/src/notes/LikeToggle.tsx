import { Heart } from 'lucide-react'

import { useFormat } from '@/i18n/format'
import { useSignInGuard } from '@/session/useSignInGuard'

import css from './LikeButton.module.css'

interface LikeToggleProps {
  /** Names the liked item, for screen readers. */
  readonly label: string
  readonly liked: boolean
  readonly count: number
  /** Called only for signed-in users. */
  readonly onToggle: () => void
}

/** A heart with a count, pressed if the viewer likes it. */
export function LikeToggle({ label, liked, count, onToggle }: LikeToggleProps) {
  const { number } = useFormat()
  const signedIn = useSignInGuard()
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
      <span className="visually-hidden">{label}</span> <span>{number(count)}</span>
    </button>
  )
}
