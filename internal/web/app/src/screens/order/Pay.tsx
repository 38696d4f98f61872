import { useState } from 'react'

import { useRefusalText } from '@/api/errors'
import type { PayMethod } from '@/api/types.gql'
import { useAsk } from '@/api/useAsk'
import { useDo } from '@/api/useDo'
import { serverNow } from '@/app/clock'
import { useFormat } from '@/i18n/format'
import { texts } from '@/i18n/texts'
import type { OrderStateFragment } from '@/orders/order.gql'
import { Button } from '@/ui/Button'
import { toast } from '@/ui/toast'
import { Countdown } from '@/vouchers/Countdown'

import { PayBalanceDocument, PayOrderDocument } from './order-actions.gql'
import { Sure } from './Sure'
import css from './Pay.module.css'

const useTexts = texts(
  {
    within: 'Pay within',
    how: 'How do you want to pay?',
    BALANCE: 'Balance',
    ALIPAY: 'Alipay',
    WECHAT: 'WeChat Pay',
    available: (amount: string) => `${amount} available`,
    pay: (amount: string) => `Pay ${amount}`,
    waiting: 'Your payment is under way: this page tells you when it is through.',
    refused: 'The payment didn’t go through. Try again, or pay another way.',
  },
  {
    within: '支付剩余',
    how: '选择支付方式',
    BALANCE: '余额',
    ALIPAY: '支付宝',
    WECHAT: '微信支付',
    available: (amount) => `可用 ${amount}`,
    pay: (amount) => `支付 ${amount}`,
    waiting: '支付处理中，到账后这里会更新。',
    refused: '支付未成功。请重试或更换支付方式。',
  },
)

const methods: readonly PayMethod[] = ['ALIPAY', 'WECHAT', 'BALANCE']

/** Pays an order, or cancels it. */
export function Pay({ order, ask }: { order: OrderStateFragment; ask: () => void }) {
  const t = useTexts()
  const { money } = useFormat()
  const [method, setMethod] = useState<PayMethod>('ALIPAY')
  const [{ data }] = useAsk({ query: PayBalanceDocument })
  const balance = data?.me?.balance ?? 0
  const payable = (name: PayMethod) => name !== 'BALANCE' || balance >= order.payValue
  const [waiting, setWaiting] = useState(false)
  const [pay, paying] = useDo(PayOrderDocument, { say: false })
  const refusalText = useRefusalText()

  const go = async () => {
    const done = await pay({ orderId: order.id, method })
    setWaiting(done.ok && done.value.order?.status === 'UNPAID')
    if (done.ok) return
    // An order that is still to be paid was not refused: its payment was.
    const { status, payBefore = null } = done.value?.order ?? {}
    const open =
      status === 'UNPAID' && (payBefore === null || new Date(payBefore).getTime() > serverNow())
    const [refusal] = done.refusals
    if (refusal)
      toast(refusal.code === 'ORDER_NOT_PAYABLE' && open ? t.refused : refusalText(refusal))
    // Whatever went wrong, the order may have become another.
    ask()
  }
  return (
    <div className={css.pay}>
      {order.payBefore !== null && (
        <div className={css.left}>
          <Countdown to={order.payBefore} label={t.within} />
        </div>
      )}
      <fieldset>
        <legend>{t.how}</legend>
        <div className={css.methods}>
          {methods.map((name) => (
            <label
              key={name}
              data-chosen={method === name || undefined}
              data-disabled={!payable(name) || undefined}
            >
              <input
                type="radio"
                name="method"
                value={name}
                checked={method === name}
                disabled={!payable(name)}
                onChange={() => setMethod(name)}
              />
              {t[name]}
              {name === 'BALANCE' && data?.me && (
                <span className={css.available}>{t.available(money(balance))}</span>
              )}
            </label>
          ))}
        </div>
      </fieldset>
      <div role="status">{waiting && <p className={css.waiting}>{t.waiting}</p>}</div>
      <Button wide busy={paying} onClick={() => void go()}>
        {t.pay(money(order.payValue))}
      </Button>
      <Sure action="cancel" orderId={order.id} ask={ask} />
    </div>
  )
}
