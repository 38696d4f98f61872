import { Star, X } from 'lucide-react'
import { useId, useState } from 'react'

import { texts } from '@/i18n/texts'
import { IconButton } from '@/ui/Button'

import css from './StarsField.module.css'

const useTexts = texts(
  {
    star: (n: number, word: string) => `${n === 1 ? '1 star' : `${n} stars`}, ${word}`,
    1: 'terrible',
    2: 'poor',
    3: 'okay',
    4: 'good',
    5: 'excellent',
    clear: (name: string) => `Clear ${name.toLowerCase()}`,
  },
  {
    star: (n, word) => `${n} 星，${word}`,
    1: '很差',
    2: '较差',
    3: '一般',
    4: '不错',
    5: '超赞',
    clear: (name) => `清除${name}`,
  },
)

interface StarsFieldProps {
  readonly label: string
  /** 1 to 5; null if not chosen. */
  readonly value: number | null
  readonly onChange: (value: number | null) => void
  /** The choice can be cleared. */
  readonly optional?: boolean
  /** Large stars, with a word for the chosen number. */
  readonly large?: boolean
}

const numbers = [1, 2, 3, 4, 5] as const

/** A group of five radio buttons that look like stars. */
export function StarsField({
  label,
  value,
  onChange,
  optional = false,
  large = false,
}: StarsFieldProps) {
  const t = useTexts()
  const name = useId()
  const [over, setOver] = useState<number | null>(null) // below the mouse
  const shown = over ?? value ?? 0
  return (
    <div
      className={large ? css.large : css.field}
      role="radiogroup"
      aria-labelledby={name}
      onPointerLeave={() => setOver(null)}
    >
      <p id={name} className={css.label}>
        {label}
      </p>
      <div className={css.stars}>
        {numbers.map((n) => (
          <label
            key={n}
            data-star={n}
            onPointerEnter={({ pointerType }) => {
              if (pointerType === 'mouse') setOver(n)
            }}
          >
            <input
              type="radio"
              name={name}
              value={n}
              checked={value === n}
              aria-label={t.star(n, t[n])}
              onChange={() => onChange(n)}
            />
            <Star
              aria-hidden="true"
              size={large ? 38 : 26}
              fill={n <= shown ? 'currentColor' : 'none'}
            />
          </label>
        ))}
        {optional && value !== null && (
          <IconButton label={t.clear(label)} onClick={() => onChange(null)}>
            <X aria-hidden="true" size={18} />
          </IconButton>
        )}
      </div>
      {large && (
        <p className={css.word} aria-hidden="true">
          {value !== null && t[value as (typeof numbers)[number]]}
        </p>
      )}
    </div>
  )
}
