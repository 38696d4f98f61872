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
    QUEUED: 'Confirming your order…',
    queuedText: 'You can leave this page. There’s no need to order again.',
    UNPAID: 'Reserved for you',
    unpaidText: 'Pay before the timer ends to keep it.',
    PAID: 'Ready to use',
    paidText: 'Show this code at the counter.',
    USED: 'Used',
    usedText: 'We hope you enjoyed it.',
    CANCELLED: 'Cancelled',
    cancelledText: 'You weren’t charged.',
    REFUNDING: 'Refund in progress',
    refundingText: 'This page updates when it’s done.',
    REFUNDED: 'Refunded',
    refundedText: (amount: string) => `${amount} was refunded to your original payment method.`,
    FAILED: 'Order failed',
    failedText: 'You weren’t charged.',
    viewVoucher: 'View voucher',
    number: 'Voucher code',
    what: 'What you bought',
    where: 'Where to use it',
    details: 'Order details',
    rules: 'Terms of use',
    labelled: (label: string) => `${label}: `,
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
    disputedText: 'You reported that you didn’t use this. We’ll look into it.',
    faceValue: 'Value',
    cancelledAt: 'Cancelled',
    refundedAt: 'Refunded',
  },
  {
    title: '订单详情',
    QUEUED: '正在确认订单…',
    queuedText: '你可以离开此页，无需重复下单。',
    UNPAID: '已为你保留',
    unpaidText: '请在倒计时结束前支付。',
    PAID: '待使用',
    paidText: '到店出示此券码。',
    USED: '已使用',
    usedText: '感谢惠顾，期待再次光临。',
    CANCELLED: '已取消',
    cancelledText: '未扣款。',
    REFUNDING: '退款中',
    refundingText: '退款完成后此页会更新。',
    REFUNDED: '已退款',
    refundedText: (amount) => `${amount} 已原路退回。`,
    FAILED: '下单失败',
    failedText: '未扣款。',
    viewVoucher: '查看代金券',
    number: '券码',
    what: '购买内容',
    where: '适用店铺',
    details: '订单信息',
    rules: '使用规则',
    labelled: (label) => `${label}：`,
    price: '售价',
    method: '支付方式',
    BALANCE: '余额',
    ALIPAY: '支付宝',
    WECHAT: '微信支付',
    createdAt: '下单时间',
    paidAt: '支付时间',
    usedAt: '使用时间',
    redeemedBy: '核销人',
    redemptionDisputedAt: '反馈时间',
    disputedText: '你已反馈没有使用此代金券，我们会核实。',
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
                  <span className="visually-hidden">{t.labelled(t.rules)}</span>
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
        {t.viewVoucher}
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
      <span className="visually-hidden">{t.labelled(t.number)}</span>
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
