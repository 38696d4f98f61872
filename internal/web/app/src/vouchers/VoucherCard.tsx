import { Ticket } from 'lucide-react'
import { Link } from 'wouter'

import { useFormat } from '@/i18n/format'
import { texts } from '@/i18n/texts'

import type { VoucherCardFragment } from './voucher.gql'
import css from './VoucherCard.module.css'

const useTexts = texts(
  { voucher: 'Voucher', worth: 'worth', one: 'One each', off: 'Off sale' },
  { voucher: '代金券', worth: '价值', one: '每人一份', off: '已下架' },
)

/** A regular voucher in a list. The whole card is a link. */
export function VoucherCard({ voucher }: { voucher: VoucherCardFragment }) {
  const t = useTexts()
  const { money } = useFormat()
  return (
    <article className={css.card} data-voucher={voucher.id}>
      <p className={css.price}>
        <strong>{money(voucher.payValue)}</strong>
        <span>
          {t.worth} {money(voucher.faceValue)}
        </span>
      </p>
      <div className={css.text}>
        <p className={css.tag}>
          <Ticket aria-hidden="true" size={16} />
          {t.voucher}
          {voucher.onePerUser && <span>· {t.one}</span>}
          {voucher.status !== 'ON_SALE' && <span>· {t.off}</span>}
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
