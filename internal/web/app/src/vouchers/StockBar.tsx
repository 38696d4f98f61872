import { useFormat } from '@/i18n/format'
import { texts } from '@/i18n/texts'

import type { SaleStateFragment } from './sale-card.gql'
import css from './StockBar.module.css'
import { useLiveSale } from './useLiveSale'

const useTexts = texts(
  {
    left: (n: string, all: string) => `${n} of ${all} left`,
    soldOut: 'Sold out. A piece may come back when somebody cancels.',
  },
  { left: (n, all) => `剩余 ${n} / ${all}`, soldOut: '已抢光，有人取消时可能放出' },
)

/** Live stock of a flash sale. */
export function StockBar({ sale }: { sale: SaleStateFragment }) {
  const t = useTexts()
  const { number } = useFormat()
  const { stock, initialStock, phase } = useLiveSale(sale)
  return (
    <div className={css.stock} data-stock={stock}>
      <progress className={css.bar} aria-hidden="true" max={initialStock} value={stock} />
      <span>{phase === 'SOLD_OUT' ? t.soldOut : t.left(number(stock), number(initialStock))}</span>
    </div>
  )
}
