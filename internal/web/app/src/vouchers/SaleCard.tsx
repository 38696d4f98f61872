import { Zap } from 'lucide-react'
import { Link } from 'wouter'

import { useFormat } from '@/i18n/format'
import { texts } from '@/i18n/texts'

import { Countdown } from './Countdown'
import type { SaleCardFragment } from './sale-card.gql'
import css from './SaleCard.module.css'
import { StockBar } from './StockBar'
import { useLiveSale } from './useLiveSale'

const useTexts = texts(
  {
    sale: 'Flash sale',
    begins: 'Starts in',
    ends: 'Ends in',
    ended: 'Sale ended',
    unavailable: 'Unavailable',
  },
  { sale: '秒杀', begins: '距开抢', ends: '距结束', ended: '秒杀已结束', unavailable: '已下架' },
)

/** A flash sale in a list, with live stock and countdown. The whole card is a link. */
export function SaleCard({
  voucher,
  withShop = false,
}: {
  voucher: SaleCardFragment
  withShop?: boolean
}) {
  const t = useTexts()
  const { money } = useFormat()
  const { phase, beginsAt, endsAt } = useLiveSale(voucher.sale)
  const off = voucher.status === 'OFF_SALE'
  return (
    <article className={css.card} data-phase={off ? 'OFF_SALE' : phase}>
      <p className={css.tag}>
        <Zap aria-hidden="true" size={16} fill="currentColor" />
        {t.sale}
        {withShop && (
          <span className={css.shop} dir="auto">
            {voucher.shop.name}
          </span>
        )}
      </p>
      <h3 dir="auto">
        <Link href={`/sales/${voucher.id}`} className={css.link}>
          {voucher.title}
        </Link>
      </h3>
      <p className={css.price}>
        <strong>{money(voucher.payValue)}</strong> <s>{money(voucher.faceValue)}</s>
      </p>
      <StockBar sale={voucher.sale} />
      {off && <p>{t.unavailable}</p>}
      {!off && phase === 'UPCOMING' && <Countdown to={beginsAt} label={t.begins} />}
      {!off && (phase === 'OPEN' || phase === 'SOLD_OUT') && (
        <Countdown to={endsAt} label={t.ends} />
      )}
      {!off && phase === 'ENDED' && <p>{t.ended}</p>}
    </article>
  )
}
