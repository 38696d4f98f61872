import { Star } from 'lucide-react'

import { useFormat } from '@/i18n/format'
import { texts } from '@/i18n/texts'

import css from './Score.module.css'

const useTexts = texts(
  {
    score: (value: string) => `${value} out of 5 stars`,
    ratings: (n: number, text: string) => (n === 1 ? '1 rating' : `${text} ratings`),
    comma: ', ',
    few: 'New',
    none: 'No ratings yet',
  },
  {
    score: (value) => `${value} 分，满分 5 分`,
    ratings: (_, text) => `${text} 人评分`,
    comma: '，',
    few: '评价较少',
    none: '暂无评分',
  },
)

interface ScoreProps {
  readonly shop: {
    readonly rating: { readonly average: number | null; readonly count: number }
  }
  /** Shown without ratings; by default that there are none. */
  readonly none?: string
}

const few = 3 // ratings that make an average meaningful

/** The average rating of a shop and the number of ratings. */
export function Score({ shop: { rating }, none }: ScoreProps) {
  const t = useTexts()
  const { number } = useFormat()
  const value = rating.average
  if (value === null) return <span className={css.none}>{none ?? t.none}</span>
  const text = value.toFixed(1)
  const { count } = rating
  const spoken = [t.score(text), ...(count > 0 ? [t.ratings(count, number(count))] : [])]
  return (
    <span className={css.score}>
      <Star aria-hidden="true" size={16} fill="currentColor" />
      <span aria-hidden="true">{text}</span>
      {count > 0 && (
        <span aria-hidden="true" className={css.count}>
          ({number(count)})
        </span>
      )}
      <span className="visually-hidden">{spoken.join(t.comma)}</span>
      {count > 0 && count < few && <span className={css.few}>{t.few}</span>}
    </span>
  )
}
