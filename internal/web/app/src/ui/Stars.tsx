import { Star } from 'lucide-react'

import { texts } from '@/i18n/texts'

import css from './Stars.module.css'

const useTexts = texts(
  { stars: (n: number) => `${n} out of 5 stars` },
  { stars: (n) => `${n} 星，满分 5 星` },
)

/** One to five stars that a user gave. */
export function Stars({ value, size = 16 }: { value: number; size?: number }) {
  const t = useTexts()
  return (
    <span className={css.stars} role="img" aria-label={t.stars(value)}>
      {[1, 2, 3, 4, 5].map((n) => (
        <Star key={n} aria-hidden="true" size={size} fill={n <= value ? 'currentColor' : 'none'} />
      ))}
    </span>
  )
}
