import { CircleCheck, ScanLine } from 'lucide-react'
import { useRef, useState } from 'react'
import { useClient } from 'urql'

import { useRequestErrorText, useUserErrorText } from '@/api/errors'
import { useApiMutation } from '@/api/useApiMutation'
import { serverNow, useServerTime } from '@/app/clock'
import { isOutcomeUnknown } from '@/forms/outcomeUnknown'
import { Form } from '@/forms/Form'
import { parseDigits } from '@/forms/number'
import { useFormat } from '@/i18n/format'
import { texts } from '@/i18n/texts'
import { useOnResume } from '@/live/network'
import { useStatusTexts } from '@/orders/statusTexts'
import { Button } from '@/ui/Button'
import { Field } from '@/ui/Field'
import { Screen } from '@/ui/Screen'
import { toast } from '@/ui/toast'

import { RequireRole } from './RequireRole'
import { RedeemableOrderDocument, RedeemOrderDocument } from './redeem.gql'
import type { RedeemableOrderFragment } from './redeem.gql'
import css from './Redeem.module.css'

const useTexts = texts(
  {
    title: 'Redeem voucher',
    number: 'Voucher code',
    numberHint: 'Shown on the customer’s order page.',
    find: 'Look up',
    notFound: 'No order in your shops has this code. Check it and try again.',
    digits: 'Voucher codes have digits only.',
    order: 'Order',
    value: (value: string) => `${value} value, paid`,
    rules: 'Terms of use',
    redeem: 'Redeem',
    done: 'Redeemed.',
    next: 'Enter the next code.',
    doneFor: (number: string) => `Code ${number} redeemed.`,
    unknownFor: (number: string) =>
      `We couldn’t confirm that code ${number} was redeemed. Look it up again.`,
    QUEUED: 'This order is still being confirmed. Look it up again in a moment.',
    UNPAID: 'Not paid yet. Ask the customer to pay first.',
    PAID: '',
    USED: '',
    usedAt: (when: string) => `Already redeemed on ${when}.`,
    CANCELLED: 'This order was cancelled.',
    REFUNDING: 'This order is being refunded.',
    REFUNDED: 'This order was refunded.',
    FAILED: 'This order failed. The customer wasn’t charged.',
  },
  {
    title: '核销代金券',
    number: '券码',
    numberHint: '顾客可在订单详情中查看券码。',
    find: '查询',
    notFound: '你的店铺没有此券码，请核对后重试。',
    digits: '券码只包含数字。',
    order: '订单',
    value: (value) => `面值 ${value}，实付`,
    rules: '使用规则',
    redeem: '核销',
    done: '核销成功。',
    next: '请输入下一个券码。',
    doneFor: (number) => `券码 ${number} 已核销。`,
    unknownFor: (number) => `无法确认券码 ${number} 是否已核销，请重新查询。`,
    QUEUED: '订单确认中，请稍后重新查询。',
    UNPAID: '订单尚未支付，请顾客先付款。',
    PAID: '',
    USED: '',
    usedAt: (when) => `已于 ${when} 核销。`,
    CANCELLED: '订单已取消。',
    REFUNDING: '订单退款中。',
    REFUNDED: '订单已退款。',
    FAILED: '下单失败，顾客未被扣款。',
  },
)

/** Redeems voucher codes one after another. */
export function Redeem() {
  const t = useTexts()
  return (
    <Screen title={t.title} backTo="/merchant">
      <RequireRole role="MERCHANT">
        <RedeemDesk />
      </RequireRole>
    </Screen>
  )
}

const clockTolerance = 5000 // ms of error in the estimated server time

function RedeemDesk() {
  const t = useTexts()
  const client = useClient()
  const requestErrorText = useRequestErrorText()
  const userErrorText = useUserErrorText()
  useServerTime()
  const [redeem, redeeming] = useApiMutation(RedeemOrderDocument, { toastErrors: false })
  const form = useRef<HTMLDivElement>(null)
  const [number, setNumber] = useState('')
  const [finding, setFinding] = useState(false)
  const [error, setError] = useState<string>()
  const [order, setOrder] = useState<RedeemableOrderFragment | null>(null)
  const [redeemedHere, setRedeemedHere] = useState(false)
  const searchId = useRef(0) // id of the current search; results of earlier ones are stale
  /**
   * A redemption whose response was lost. If the order is used since then, that request succeeded.
   */
  const unconfirmed = useRef<{ readonly id: string; readonly since: number } | null>(null)

  const focusField = () => form.current?.querySelector('input')?.focus()
  // Cached states are useless at the counter.
  const lookUp = (digits: string) =>
    client
      .query(RedeemableOrderDocument, { number: digits }, { requestPolicy: 'network-only' })
      .toPromise()
  const show = (found: RedeemableOrderFragment | null, justRedeemed = false) => {
    const { id, since = Infinity } = unconfirmed.current ?? {}
    const usedAt = found?.usedAt ? new Date(found.usedAt).getTime() : -Infinity
    const late = found?.status === 'USED' && found.id === id && usedAt > since - clockTolerance
    setOrder(found)
    setRedeemedHere(justRedeemed || late)
    if (found?.status !== 'PAID' && found?.id === id) unconfirmed.current = null
    if (!justRedeemed && !late) return
    setNumber('')
    focusField()
  }
  const recheck = async (orderNumber: string) => {
    const search = searchId.current
    const { data } = await lookUp(orderNumber)
    if (search === searchId.current && data?.orderByNumber) show(data.orderByNumber)
  }
  useOnResume(() => {
    if (order !== null && order.id === unconfirmed.current?.id) void recheck(order.number)
  })
  const find = async () => {
    const search = ++searchId.current
    const digits = parseDigits(number)
    setFinding(false)
    setRedeemedHere(false)
    setOrder(null)
    if (digits === null) {
      setError(t.digits)
      focusField()
      return
    }
    setError(undefined)
    setFinding(true)
    const { data, error: failed } = await lookUp(digits)
    if (search !== searchId.current) return
    setFinding(false)
    if (failed) {
      toast(requestErrorText(failed))
      return
    }
    const found = data?.orderByNumber ?? null
    show(found)
    if (found === null) {
      setError(t.notFound)
      focusField()
    }
  }
  const redeemOrder = async ({ id, number: orderNumber }: RedeemableOrderFragment) => {
    const search = searchId.current
    const since = unconfirmed.current?.id === id ? unconfirmed.current.since : serverNow()
    const result = await redeem({ id })
    const open = !result.ok && isOutcomeUnknown(result.error)
    const [userError] = result.ok ? [] : result.userErrors
    if (search !== searchId.current) {
      if (result.ok) toast(t.doneFor(orderNumber))
      else if (open) toast(t.unknownFor(orderNumber))
      else if (userError) toast(`${orderNumber}: ${userErrorText(userError)}`)
      return
    }
    if (open) unconfirmed.current = { id, since }
    const now = result.value?.order
    if (now) show(now, result.ok)
    else {
      if (userError) toast(userErrorText(userError))
      await recheck(orderNumber)
    }
  }

  return (
    <div className={css.desk}>
      <div ref={form}>
        <Form label={t.title} userErrors={[]} fields={[]} onSubmit={() => void find()}>
          <Field
            label={t.number}
            hint={t.numberHint}
            error={error}
            inputMode="numeric"
            autoComplete="off"
            enterKeyHint="search"
            required
            value={number}
            onChange={(event) => {
              setNumber(event.target.value)
              setError(undefined)
            }}
          />
          <Button
            type="submit"
            wide
            kind={order?.status === 'PAID' ? 'quiet' : 'primary'}
            busy={finding}
          >
            {!finding && <ScanLine aria-hidden="true" size={20} />} {t.find}
          </Button>
        </Form>
      </div>
      <div role="status" className={css.found}>
        {order && (
          <OrderPanel
            order={order}
            redeemedHere={redeemedHere}
            busy={redeeming}
            onRedeem={() => void redeemOrder(order)}
          />
        )}
      </div>
    </div>
  )
}

interface FoundProps {
  readonly order: RedeemableOrderFragment
  /** Redeemed on this screen just now. */
  readonly redeemedHere: boolean
  readonly busy: boolean
  readonly onRedeem: () => void
}

function OrderPanel({ order, redeemedHere, busy, onRedeem }: FoundProps) {
  const t = useTexts()
  const { money, moment } = useFormat()
  const statusTexts = useStatusTexts()
  const { voucher, terms, status } = order
  const why = order.usedAt === null ? t[status] : t.usedAt(moment(order.usedAt))
  return (
    <section
      className={css.order}
      aria-label={t.order}
      data-order={order.number}
      data-status={status}
    >
      <p className={css.shop} dir="auto">
        {voucher.shop.name}
      </p>
      <h2 dir="auto">{terms.title}</h2>
      {terms.subTitle !== null && (
        <p className={css.quiet} dir="auto">
          {terms.subTitle}
        </p>
      )}
      <p className={css.price}>
        {t.value(money(terms.faceValue))} <strong>{money(order.payValue)}</strong>
      </p>
      <p className={css.number}>
        {order.number} <span className={css.status}>{statusTexts[status]}</span>
      </p>
      {terms.rules !== null && (
        <div className={css.rules}>
          <h3>{t.rules}</h3>
          <p dir="auto">{terms.rules}</p>
        </div>
      )}
      {status === 'PAID' ? (
        <Button wide busy={busy} onClick={onRedeem}>
          {t.redeem}
        </Button>
      ) : redeemedHere ? (
        <p className={css.done} data-redeemed={order.number}>
          <CircleCheck aria-hidden="true" size={26} />
          <span>
            <strong>{t.done}</strong> {t.next}
          </span>
        </p>
      ) : (
        <p className={css.why} data-refused={status}>
          {why}
        </p>
      )}
    </section>
  )
}
