import type { LucideIcon } from 'lucide-react'

import { useFormat } from '@/i18n/format'
import { useSignInGuard } from '@/session/useSignInGuard'

import css from './CountToggle.module.css'

interface CountToggleProps {
  readonly icon: LucideIcon
  /** Names the action and its object, for screen readers. */
  readonly label: string
  readonly pressed: boolean
  /** Omit it to show only the icon. */
  readonly count?: number | undefined
  /** Called only for signed-in users. */
  readonly onToggle: () => void
}

/** A button with an icon and a count, pressed if the viewer is one of those counted. */
export function CountToggle({ icon: Icon, label, pressed, count, onToggle }: CountToggleProps) {
  const { number } = useFormat()
  const signedIn = useSignInGuard()
  return (
    <button
      type="button"
      className={css.toggle}
      aria-pressed={pressed}
      onClick={() => {
        if (signedIn()) onToggle()
      }}
    >
      <Icon aria-hidden="true" size={20} fill={pressed ? 'currentColor' : 'none'} />
      <span className="visually-hidden">{label}</span>
      {count !== undefined && <span> {number(count)}</span>}
    </button>
  )
}
