import { Heart } from 'lucide-react'

import { CountToggle } from '@/ui/CountToggle'

interface LikeToggleProps {
  /** Names the liked item, for screen readers. */
  readonly label: string
  readonly liked: boolean
  readonly count: number
  /** Called only for signed-in users. */
  readonly onToggle: () => void
}

/** A heart with a count, pressed if the viewer likes it. */
export function LikeToggle({ liked, ...rest }: LikeToggleProps) {
  return <CountToggle icon={Heart} pressed={liked} {...rest} />
}
