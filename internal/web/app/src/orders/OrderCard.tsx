import { Link } from 'wouter'

import { useFormat } from '@/i18n/format'
import { texts } from '@/i18n/texts'
import { Picture } from '@/ui/Picture'
import { Countdown } from '@/vouchers/Countdown'

import type { OrderCardFragment } from './order.gql'
import css from './OrderCard.module.css'
import { useStatusTexts } from './statusTexts'
import { useLatestOrder } from './useLatestOrder'

const useTexts = texts({ payWithin: 'Pay within' }, { payWithin: '支付剩余时间' })

/** An order in a list. The whole card is a link. */
export function OrderCard({ order: listed, eager }: { order: OrderCardFragment; eager: boolean }) {
  const t = useTexts()
  const statuses = useStatusTexts()
  const { money, moment } = useFormat()
  const order = useLatestOrder(listed)
  const { shop } = order.voucher
  return (
    <article className={css.card} data-order={order.id} data-status={order.status}>
      <div className={css.picture}>
        <Picture src={shop.images[0]?.thumbnailUrl} alt="" ratio={1} eager={eager} />
      </div>
      <div className={css.text}>
        <p className={css.top}>
          <span className={css.shop} dir="auto">
            {shop.name}
          </span>
          <span className={css.status}>{statuses[order.status]}</span>
        </p>
        <h3 dir="auto">
          <Link href={`/orders/${order.id}`} className={css.link}>
            {order.terms.title}
          </Link>
        </h3>
        <p className={css.foot}>
          <strong>{money(order.payValue)}</strong>
          <time dateTime={order.createdAt}>{moment(order.createdAt)}</time>
        </p>
        {order.status === 'UNPAID' && order.payBefore !== null && (
          <Countdown to={order.payBefore} label={t.payWithin} />
        )}
      </div>
    </article>
  )
}
