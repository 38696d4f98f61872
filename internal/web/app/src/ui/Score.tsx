import { Star } from 'lucide-react'

import { texts } from '@/i18n/texts'

import css from './Score.module.css'

const useTexts = texts(
  { score: (value: string) => `${value} out of 5 stars`, none: 'No ratings yet' },
  { score: (value: string) => `${value} 分，满分 5 分`, none: '暂无评分' },
)

/** The average rating of a shop, 1 to 5; null if there is none. */
export function Score({ value }: { value: number | null }) {
  const t = useTexts()
  if (value === null) return <span className={css.none}>{t.none}</span>
  const text = value.toFixed(1)
  return (
    <span className={css.score}>
      <Star aria-hidden="true" size={16} fill="currentColor" />
      <span aria-hidden="true">{text}</span>
      <span className="visually-hidden">{t.score(text)}</span>
    </span>
  )
}
