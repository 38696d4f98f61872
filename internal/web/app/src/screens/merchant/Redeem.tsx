import { CircleCheck, ScanLine } from 'lucide-react'
import { useRef, useState } from 'react'
import { useClient } from 'urql'

import { useFailureText } from '@/api/errors'
import { useDo } from '@/api/useDo'
import { Form } from '@/forms/Form'
import { useFormat } from '@/i18n/format'
import { texts } from '@/i18n/texts'
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
    number: '订单号',
    numberHint: '顾客可在订单详情中查看。',
    find: '查询',
    notFound: '你的店铺没有该订单。',
    digits: '订单号只含数字。',
    order: '订单',
    worth: (value) => `面值 ${value}，实付`,
    rules: '使用规则',
    redeem: '核销',
    done: '核销成功。',
    next: '请输入下一个订单号。',
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

function Desk() {
  const t = useTexts()
  const client = useClient()
  const failureText = useFailureText()
  const [redeem, redeeming] = useDo(RedeemOrderDocument)
  const form = useRef<HTMLDivElement>(null)
  const [number, setNumber] = useState('')
  const [finding, setFinding] = useState(false)
  const [error, setError] = useState<string>()
  const [order, setOrder] = useState<RedeemableOrderFragment | null>(null)
  const [justDone, setJustDone] = useState(false)

  const toField = () => form.current?.querySelector('input')?.focus()
  const find = async () => {
    const plain = number.replace(/[\s-]/g, '')
    setJustDone(false)
    setOrder(null)
    if (!/^\d+$/.test(plain)) {
      setError(t.digits)
      toField()
      return
    }
    setError(undefined)
    setFinding(true)
    // What it was a moment ago does not help at a till.
    const { data, error: failed } = await client
      .query(RedeemableOrderDocument, { number: plain }, { requestPolicy: 'network-only' })
      .toPromise()
    setFinding(false)
    if (failed) {
      toast(failureText(failed))
      return
    }
    const found = data?.orderByNumber ?? null
    setOrder(found)
    if (found === null) {
      setError(t.notFound)
      toField()
    }
  }
  const take = async (id: string) => {
    const done = await redeem({ id })
    const now = done.value?.order
    if (now) setOrder(now)
    if (!done.ok) return
    setJustDone(true)
    setNumber('')
    toField()
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
            maxLength={40}
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
            onRedeem={() => void take(order.id)}
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
  const { voucher, status } = order
  const why = order.usedAt === null ? t[status] : t.usedAt(moment(order.usedAt))
  return (
    <section
      className={css.order}
      aria-label={t.order}
      data-order={order.number}
      data-status={status}
    >
      <p className={css.shop}>{voucher.shop.name}</p>
      <h2>{voucher.title}</h2>
      {voucher.subTitle !== null && <p className={css.quiet}>{voucher.subTitle}</p>}
      <p className={css.price}>
        {t.worth(money(voucher.faceValue))} <strong>{money(order.payValue)}</strong>
      </p>
      <p className={css.number}>
        {order.number} <span className={css.status}>{statusName(status)}</span>
      </p>
      {voucher.rules !== null && (
        <div className={css.rules}>
          <h3>{t.rules}</h3>
          <p>{voucher.rules}</p>
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
