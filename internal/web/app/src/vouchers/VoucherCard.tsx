import { Ticket } from 'lucide-react'
import { Link } from 'wouter'

import { useFormat } from '@/i18n/format'
import { texts } from '@/i18n/texts'

import type { VoucherCardFragment } from './voucher.gql'
import css from './VoucherCard.module.css'

const useTexts = texts(
  {
    voucher: 'Voucher',
    value: (amount: string) => `${amount} value`,
    limit: 'Limit 1 per customer',
    unavailable: 'Unavailable',
  },
  {
    voucher: '代金券',
    value: (amount) => `面值 ${amount}`,
    limit: '每人限购 1 张',
    unavailable: '已下架',
  },
)

/** A regular voucher in a list. The whole card is a link. */
export function VoucherCard({ voucher }: { voucher: VoucherCardFragment }) {
  const t = useTexts()
  const { money } = useFormat()
  return (
    <article className={css.card} data-voucher={voucher.id}>
      <p className={css.price}>
        <strong>{money(voucher.payValue)}</strong>
        <span>{t.value(money(voucher.faceValue))}</span>
      </p>
      <div className={css.text}>
        <p className={css.tag}>
          <Ticket aria-hidden="true" size={16} />
          {t.voucher}
          {voucher.onePerUser && <span>· {t.limit}</span>}
          {voucher.status !== 'ON_SALE' && <span>· {t.unavailable}</span>}
        </p>
        <h3 dir="auto">
          <Link href={`/vouchers/${voucher.id}`} className={css.link}>
            {voucher.title}
          </Link>
        </h3>
        {voucher.subTitle !== null && (
          <p className={css.sub} dir="auto">
            {voucher.subTitle}
          </p>
        )}
      </div>
    </article>
  )
}
