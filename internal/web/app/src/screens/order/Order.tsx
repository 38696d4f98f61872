import {
  Ban,
  CircleAlert,
  CircleCheckBig,
  Hourglass,
  LoaderCircle,
  TicketCheck,
  Undo2,
  Wallet,
} from 'lucide-react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'

import { useUserErrorText } from '@/api/errors'
import type { OrderStatus } from '@/api/types.gql'
import { serverNow } from '@/app/clock'
import { useFormat } from '@/i18n/format'
import { texts } from '@/i18n/texts'
import type { OrderStateFragment } from '@/orders/order.gql'
import { useOrder } from '@/orders/useOrder'
import { NotFound } from '@/screens/notfound/NotFound'
import { ShopRow } from '@/shops/ShopRow'
import { Screen } from '@/ui/Screen'
import { Skeleton } from '@/ui/Skeleton'
import { ErrorState } from '@/ui/State'
import { voucherPath } from '@/vouchers/paths'
import type { VoucherFactsFragment } from '@/vouchers/voucher.gql'

import { Pay } from './Pay'
import { ConfirmButton } from './ConfirmButton'
import css from './Order.module.css'

const useTexts = texts(
  {
    title: 'Order',
    QUEUED: 'We have your order; it is being confirmed',
    queuedText: 'Stay, go or come back: it goes on by itself, and you need not order again.',
    UNPAID: 'Your piece is yours: please pay',
    unpaidText: 'Nobody else can get it meanwhile.',
    PAID: 'Paid and ready to use',
    paidText: 'Show this number in the shop.',
    USED: 'Used',
    usedText: 'We hope you enjoyed it.',
    CANCELLED: 'Cancelled',
    cancelledText: 'Nothing was paid.',
    REFUNDING: 'Your money is on its way back',
    refundingText: 'This page tells you when it is there.',
    REFUNDED: 'Your money is back',
    refundedText: (amount: string) => `${amount} went back to where it came from.`,
    FAILED: 'This did not become an order',
    failedText: 'Nothing was paid.',
    again: 'To the voucher',
    number: 'Number',
    what: 'What you bought',
    where: 'Where',
    details: 'Details',
    rules: 'Rules',
    price: 'Price',
    method: 'Paid with',
    BALANCE: 'Balance',
    ALIPAY: 'Alipay',
    WECHAT: 'WeChat Pay',
    createdAt: 'Ordered',
    paidAt: 'Paid',
    usedAt: 'Used',
    redeemedBy: 'Redeemed by',
    redemptionDisputedAt: 'Reported',
    disputedText: 'You told us that you didn’t use this. We’ll check it.',
    faceValue: 'Value',
    cancelledAt: 'Cancelled',
    refundedAt: 'Refunded',
  },
  {
    title: '订单详情',
    QUEUED: '订单已收到，正在确认',
    queuedText: '可以离开或稍后再来，无需重复下单。',
    UNPAID: '名额已为你保留，请支付',
    unpaidText: '支付期间不会被别人抢走。',
    PAID: '已支付，待使用',
    paidText: '到店出示此券码。',
    USED: '已使用',
    usedText: '希望你满意。',
    CANCELLED: '已取消',
    cancelledText: '未扣款。',
    REFUNDING: '退款中',
    refundingText: '到账后这里会更新。',
    REFUNDED: '已退款',
    refundedText: (amount) => `${amount} 已原路退回。`,
    FAILED: '下单未成功',
    failedText: '未扣款。',
    again: '查看优惠券',
    number: '券码',
    what: '购买内容',
    where: '适用门店',
    details: '订单信息',
    rules: '使用规则',
    price: '金额',
    method: '支付方式',
    BALANCE: '余额',
    ALIPAY: '支付宝',
    WECHAT: '微信支付',
    createdAt: '下单时间',
    paidAt: '支付时间',
    usedAt: '使用时间',
    redeemedBy: '核销人',
    redemptionDisputedAt: '反馈时间',
    disputedText: '你已反馈没有使用此券，我们会核实。',
    faceValue: '面值',
    cancelledAt: '取消时间',
    refundedAt: '退款时间',
  },
)

const icons: Record<OrderStatus, typeof Ban> = {
  QUEUED: LoaderCircle,
  UNPAID: Wallet,
  PAID: TicketCheck,
  USED: CircleCheckBig,
  CANCELLED: Ban,
  REFUNDING: Hourglass,
  REFUNDED: Undo2,
  FAILED: CircleAlert,
}

/** An order: its live status, actions and details. */
export function Order({ id }: { id: string }) {
  const t = useTexts()
  const { state, voucher, terms, redeemedBy, notFound, error, isOwn, refetch } = useOrder(id)
  if (state === null || voucher === null || terms === null) {
    if (notFound) return <NotFound />
    return (
      <Screen title={t.title} backTo="/orders">
        {error ? <ErrorState error={error} onRetry={refetch} /> : <Skeleton shape="card" />}
      </Screen>
    )
  }
  return (
    <Screen title={t.title} backTo="/orders">
      <div className={css.layout} data-order={id}>
        <State order={state} voucher={voucher} isOwn={isOwn} refetch={refetch} />
        <div className={css.side}>
          <section aria-labelledby="what">
            <h2 id="what">{t.what}</h2>
            <div className={css.card}>
              <h3 dir="auto">
                <Link href={voucherPath(voucher)}>{terms.title}</Link>
              </h3>
              {terms.subTitle !== null && <p dir="auto">{terms.subTitle}</p>}
              {terms.rules !== null && (
                <p className={css.rules}>
                  <span className="visually-hidden">{t.rules}: </span>
                  <bdi>{terms.rules}</bdi>
                </p>
              )}
            </div>
          </section>
          <section aria-labelledby="where">
            <h2 id="where">{t.where}</h2>
            <ShopRow shop={voucher.shop} />
          </section>
          <Details order={state} faceValue={terms.faceValue} redeemedBy={redeemedBy} />
        </div>
      </div>
    </Screen>
  )
}

interface StateProps {
  readonly order: OrderStateFragment
  readonly voucher: VoucherFactsFragment
  readonly isOwn: boolean
  readonly refetch: () => void
}

function State({ order, voucher, isOwn, refetch }: StateProps) {
  const t = useTexts()
  const { money } = useFormat()
  const userErrorText = useUserErrorText()
  const { status, failure } = order
  const Icon = icons[status]
  const statusText: Record<OrderStatus, string> = {
    QUEUED: t.queuedText,
    UNPAID: t.unpaidText,
    PAID: t.paidText,
    USED: order.redemptionDisputedAt === null ? t.usedText : t.disputedText,
    CANCELLED: t.cancelledText,
    REFUNDING: t.refundingText,
    REFUNDED: t.refundedText(money(order.payValue)),
    FAILED: failure === null ? t.failedText : userErrorText(failure),
  }
  let actions: ReactNode = null
  if (status === 'UNPAID' && isOwn) actions = <Pay order={order} refetch={refetch} />
  if (status === 'PAID') {
    actions = (
      <>
        <VoucherCode number={order.number} />
        {isOwn && <ConfirmButton action="refund" orderId={order.id} refetch={refetch} />}
      </>
    )
  }
  if (isOwn && canDispute(order))
    actions = <ConfirmButton action="dispute" orderId={order.id} refetch={refetch} />
  if (status === 'FAILED' || status === 'CANCELLED') {
    actions = (
      <Link href={voucherPath(voucher)} className={css.voucherLink}>
        {t.again}
      </Link>
    )
  }
  return (
    <div className={css.state} data-status={status} data-failure={failure?.code}>
      <div role="status" className={css.status}>
        <span className={css.icon}>
          <Icon aria-hidden="true" size={32} />
        </span>
        <p className={css.title}>{t[status]}</p>
        <p className={css.text}>{statusText[status]}</p>
      </div>
      {actions}
    </div>
  )
}

const disputeWithin = 24 * 60 * 60_000 // ms

/** Reports whether the buyer can still dispute the redemption. */
function canDispute({ status, usedAt, redemptionDisputedAt }: OrderStateFragment): boolean {
  return (
    status === 'USED' &&
    redemptionDisputedAt === null &&
    usedAt !== null &&
    serverNow() < new Date(usedAt).getTime() + disputeWithin
  )
}

/** The voucher code, in groups of four digits. */
function VoucherCode({ number }: { number: string }) {
  const t = useTexts()
  return (
    <p className={css.digits} data-number={number}>
      <span className="visually-hidden">{t.number}: </span>
      {(number.match(/.{1,4}/g) ?? []).map((group, i) => (
        // oxlint-disable-next-line react/no-array-index-key
        <span key={i}>{group} </span>
      ))}
    </p>
  )
}

const timestamps = [
  'createdAt',
  'paidAt',
  'usedAt',
  'redemptionDisputedAt',
  'cancelledAt',
  'refundedAt',
] as const

interface DetailsProps {
  readonly order: OrderStateFragment
  readonly faceValue: number
  readonly redeemedBy: string | null
}

function Details({ order, faceValue, redeemedBy }: DetailsProps) {
  const t = useTexts()
  const { money, moment } = useFormat()
  return (
    <section aria-labelledby="details">
      <h2 id="details">{t.details}</h2>
      <dl className={`${css.card} ${css.details}`}>
        <div>
          <dt>{t.number}</dt>
          <dd>{order.number}</dd>
        </div>
        <div>
          <dt>{t.price}</dt>
          <dd>{money(order.payValue)}</dd>
        </div>
        <div>
          <dt>{t.faceValue}</dt>
          <dd>{money(faceValue)}</dd>
        </div>
        {order.payMethod !== null && (
          <div>
            <dt>{t.method}</dt>
            <dd>{t[order.payMethod]}</dd>
          </div>
        )}
        {redeemedBy !== null && (
          <div>
            <dt>{t.redeemedBy}</dt>
            <dd dir="auto">{redeemedBy}</dd>
          </div>
        )}
        {timestamps.map((name) => {
          const at = order[name]
          return at === null ? null : (
            <div key={name}>
              <dt>{t[name]}</dt>
              <dd>
                <time dateTime={at}>{moment(at)}</time>
              </dd>
            </div>
          )
        })}
      </dl>
    </section>
  )
}
