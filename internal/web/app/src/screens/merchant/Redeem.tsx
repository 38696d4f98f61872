import { CircleCheck, ScanLine } from 'lucide-react'
import { useRef, useState } from 'react'
import { useClient } from 'urql'

import { useFailureText, useRefusalText } from '@/api/errors'
import { useDo } from '@/api/useDo'
import { serverNow, useServerTime } from '@/app/clock'
import { leavesOpen } from '@/forms/doubt'
import { Form } from '@/forms/Form'
import { digitsOf } from '@/forms/number'
import { useFormat } from '@/i18n/format'
import { texts } from '@/i18n/texts'
import { useCatchUp } from '@/live/network'
import { Button } from '@/ui/Button'
import { Field } from '@/ui/Field'
import { Screen } from '@/ui/Screen'
import { toast } from '@/ui/toast'

import { ForRole } from './ForRole'
import { RedeemableOrderDocument, RedeemOrderDocument } from './redeem.gql'
import type { RedeemableOrderFragment } from './redeem.gql'
import css from './Redeem.module.css'
import { useStatusName } from './statusNames'

const useTexts = texts(
  {
    title: 'Redeem a voucher',
    number: 'Number of the order',
    numberHint: 'The customer finds it in the order.',
    find: 'Find',
    notFound: 'There is no such order in your shops.',
    digits: 'The number has digits only.',
    order: 'Order',
    worth: (value: string) => `worth ${value}, paid`,
    rules: 'Rules',
    redeem: 'Redeem',
    done: 'Redeemed. Enjoy!',
    next: 'Enter the next number.',
    doneFor: (number: string) => `Order ${number} is redeemed.`,
    openFor: (number: string) =>
      `Whether order ${number} was redeemed is not known: find it again.`,
    QUEUED: 'It is not an order yet: it waits in the queue.',
    UNPAID: 'It is not paid yet. The customer has to pay it first.',
    PAID: '',
    USED: '',
    usedAt: (when: string) => `It was redeemed already, ${when}.`,
    CANCELLED: 'It was cancelled.',
    REFUNDING: 'The money is on its way back to the customer.',
    REFUNDED: 'The customer has the money back.',
    FAILED: 'It failed, and nothing was paid.',
  },
  {
    title: '核销优惠券',
    number: '券码',
    numberHint: '顾客可在订单详情中查看券码。',
    find: '查询',
    notFound: '你的店铺没有该券码。',
    digits: '券码只含数字。',
    order: '订单',
    worth: (value) => `面值 ${value}，实付`,
    rules: '使用规则',
    redeem: '核销',
    done: '核销成功。',
    next: '请输入下一个券码。',
    doneFor: (number) => `券码 ${number} 已核销。`,
    openFor: (number) => `券码 ${number} 的核销结果未知，请重新查询。`,
    QUEUED: '订单排队中，尚未生成。',
    UNPAID: '订单尚未支付，请顾客先付款。',
    PAID: '',
    USED: '',
    usedAt: (when) => `该订单已于 ${when} 核销。`,
    CANCELLED: '订单已取消。',
    REFUNDING: '订单退款中。',
    REFUNDED: '订单已退款。',
    FAILED: '下单失败，未扣款。',
  },
)

/** Takes what customers paid for: one number after the other. */
export function Redeem() {
  const t = useTexts()
  return (
    <Screen title={t.title} up="/merchant">
      <ForRole role="MERCHANT">
        <Desk />
      </ForRole>
    </Screen>
  )
}

const slack = 5000 // ms that our idea of the server's time may be off

function Desk() {
  const t = useTexts()
  const client = useClient()
  const failureText = useFailureText()
  const refusalText = useRefusalText()
  useServerTime()
  const [redeem, redeeming] = useDo(RedeemOrderDocument, { say: false })
  const form = useRef<HTMLDivElement>(null)
  const [number, setNumber] = useState('')
  const [finding, setFinding] = useState(false)
  const [error, setError] = useState<string>()
  const [order, setOrder] = useState<RedeemableOrderFragment | null>(null)
  const [justDone, setJustDone] = useState(false)
  const turn = useRef(0) // the search whose order is shown: what belongs to an earlier one is late
  /** A try whose answer did not arrive: an order that is used since then was redeemed by it. */
  const doubt = useRef<{ readonly id: string; readonly since: number } | null>(null)

  const toField = () => form.current?.querySelector('input')?.focus()
  // What it was a moment ago does not help at a till.
  const ask = (plain: string) =>
    client
      .query(RedeemableOrderDocument, { number: plain }, { requestPolicy: 'network-only' })
      .toPromise()
  const show = (found: RedeemableOrderFragment | null, done = false) => {
    const { id, since = Infinity } = doubt.current ?? {}
    const usedAt = found?.usedAt ? new Date(found.usedAt).getTime() : -Infinity
    const late = found?.status === 'USED' && found.id === id && usedAt > since - slack
    setOrder(found)
    setJustDone(done || late)
    if (found?.status !== 'PAID' && found?.id === id) doubt.current = null
    if (!done && !late) return
    setNumber('')
    toField()
  }
  const recheck = async (its: string) => {
    const mine = turn.current
    const { data } = await ask(its)
    if (mine === turn.current && data?.orderByNumber) show(data.orderByNumber)
  }
  useCatchUp(() => {
    if (order !== null && order.id === doubt.current?.id) void recheck(order.number)
  })
  const find = async () => {
    const mine = ++turn.current
    const plain = digitsOf(number)
    setFinding(false)
    setJustDone(false)
    setOrder(null)
    if (plain === null) {
      setError(t.digits)
      toField()
      return
    }
    setError(undefined)
    setFinding(true)
    const { data, error: failed } = await ask(plain)
    if (mine !== turn.current) return
    setFinding(false)
    if (failed) {
      toast(failureText(failed))
      return
    }
    const found = data?.orderByNumber ?? null
    show(found)
    if (found === null) {
      setError(t.notFound)
      toField()
    }
  }
  const take = async ({ id, number: its }: RedeemableOrderFragment) => {
    const mine = turn.current
    const since = doubt.current?.id === id ? doubt.current.since : serverNow()
    const done = await redeem({ id })
    const open = !done.ok && leavesOpen(done.error)
    const [refusal] = done.ok ? [] : done.refusals
    if (mine !== turn.current) {
      if (done.ok) toast(t.doneFor(its))
      else if (open) toast(t.openFor(its))
      else if (refusal) toast(`${its}: ${refusalText(refusal)}`)
      return
    }
    if (open) doubt.current = { id, since }
    const now = done.value?.order
    if (now) show(now, done.ok)
    else {
      if (refusal) toast(refusalText(refusal))
      await recheck(its)
    }
  }

  return (
    <div className={css.desk}>
      <div ref={form}>
        <Form label={t.title} refusals={[]} fields={[]} onSubmit={() => void find()}>
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
          <Found
            order={order}
            justDone={justDone}
            busy={redeeming}
            onRedeem={() => void take(order)}
          />
        )}
      </div>
    </div>
  )
}

interface FoundProps {
  readonly order: RedeemableOrderFragment
  /** It was redeemed here, just now. */
  readonly justDone: boolean
  readonly busy: boolean
  readonly onRedeem: () => void
}

function Found({ order, justDone, busy, onRedeem }: FoundProps) {
  const t = useTexts()
  const { money, moment } = useFormat()
  const statusName = useStatusName()
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
        {t.worth(money(terms.faceValue))} <strong>{money(order.payValue)}</strong>
      </p>
      <p className={css.number}>
        {order.number} <span className={css.status}>{statusName(status)}</span>
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
      ) : justDone ? (
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
