import { useFormat } from '@/i18n/format'
import { texts } from '@/i18n/texts'
import { filterChips, priceRanges, priceValue } from '@/shops/filters'
import { useFilterTexts } from '@/shops/useFilterTexts'
import css from '@/ui/Chips.module.css'

const useTexts = texts(
  {
    filters: 'Filters',
    below: (price: string) => `Under ${price}`,
    from: (price: string) => `${price}+`,
    anywhere: 'Anywhere',
  },
  {
    filters: '筛选',
    below: (price) => `${price} 以下`,
    from: (price) => `${price} 以上`,
    anywhere: '不限位置',
  },
)

interface FiltersProps {
  readonly params: URLSearchParams
  /** Sets a parameter; '' removes it. */
  readonly onChange: (param: string, value: string) => void
}

/** Chips for the conditions of a search. Those of one parameter exclude each other. */
export function Filters({ params, onChange }: FiltersProps) {
  const t = useTexts()
  const names = useFilterTexts()
  const { money, number } = useFormat()
  const yuan = (value: number) => money(value * 100)
  const prices = priceRanges.map(({ from, below }) => ({
    param: 'price',
    value: priceValue({ from, below }),
    text:
      below === null
        ? t.from(yuan(from))
        : from === 0
          ? t.below(yuan(below))
          : `${yuan(from)}–${number(below)}`,
  }))
  const anywhere = { param: 'where', value: 'any', text: t.anywhere }
  const chips = [
    ...filterChips.map(({ name, param, value }) => ({ param, value, text: names[name] })),
    ...prices,
    ...(params.get('where') === 'any' ? [anywhere] : []),
  ]
  return (
    <ul className={css.chips} aria-label={t.filters}>
      {chips.map(({ param, value, text }) => {
        const on = params.get(param) === value
        return (
          <li key={param + value}>
            <button
              type="button"
              aria-pressed={on}
              onClick={() => onChange(param, on ? '' : value)}
            >
              {text}
            </button>
          </li>
        )
      })}
    </ul>
  )
}
