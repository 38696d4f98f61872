import { Star } from 'lucide-react'

import { texts } from '@/i18n/texts'

import css from './Score.module.css'

const useTexts = texts(
  { score: (value: string) => `${value} of 5 stars` },
  { score: (value: string) => `${value} 分，满分 5 分` },
)

/** What people think of a shop, 0.0 to 5.0. */
export function Score({ value }: { value: number }) {
  const t = useTexts()
  const written = value.toFixed(1)
  return (
    <span className={css.score}>
      <Star aria-hidden="true" size={16} fill="currentColor" />
      <span aria-hidden="true">{written}</span>
      <span className="unseen">{t.score(written)}</span>
    </span>
  )
}
