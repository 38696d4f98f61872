import { useFormat } from '@/i18n/format'
import { texts } from '@/i18n/texts'

import type { SaleStateFragment } from './sale-card.gql'
import css from './StockBar.module.css'
import { useLiveSale } from './useLiveSale'

const useTexts = texts(
  {
    left: (n: string) => `${n} left`,
    soldOut: 'Sold out. Check back later: cancelled orders go back on sale.',
  },
  { left: (n) => `剩余 ${n} 张`, soldOut: '已抢光，有人取消时可能再次放出。' },
)

/** Live stock of a flash sale. */
export function StockBar({ sale }: { sale: SaleStateFragment }) {
  const t = useTexts()
  const { number } = useFormat()
  const { stock, initialStock, phase } = useLiveSale(sale)
  return (
    <div className={css.stock} data-stock={stock}>
      <progress className={css.bar} aria-hidden="true" max={initialStock} value={stock} />
      <span>{phase === 'SOLD_OUT' ? t.soldOut : t.left(number(stock))}</span>
    </div>
  )
}
