import { useState } from 'react'

import { useUserErrorText } from '@/api/errors'
import type { PayMethod } from '@/api/types.gql'
import { useApiQuery } from '@/api/useApiQuery'
import { useApiMutation } from '@/api/useApiMutation'
import { serverNow } from '@/app/clock'
import { useFormat } from '@/i18n/format'
import { texts } from '@/i18n/texts'
import type { OrderStateFragment } from '@/orders/order.gql'
import { Button } from '@/ui/Button'
import { toast } from '@/ui/toast'
import { Countdown } from '@/vouchers/Countdown'

import { PayBalanceDocument, PayOrderDocument } from './order-actions.gql'
import { ConfirmButton } from './ConfirmButton'
import css from './Pay.module.css'

const useTexts = texts(
  {
    within: 'Pay within',
    how: 'Payment method',
    BALANCE: 'Balance',
    ALIPAY: 'Alipay',
    WECHAT: 'WeChat Pay',
    available: (amount: string) => `${amount} available`,
    pay: (amount: string) => `Pay ${amount}`,
    waiting: 'Processing your payment. This page updates when it’s done.',
    refused: 'Your payment didn’t go through. Try again, or choose another payment method.',
  },
  {
    within: '支付剩余时间',
    how: '支付方式',
    BALANCE: '余额',
    ALIPAY: '支付宝',
    WECHAT: '微信支付',
    available: (amount) => `可用 ${amount}`,
    pay: (amount) => `支付 ${amount}`,
    waiting: '支付处理中，完成后此页会更新。',
    refused: '支付未成功，请重试或更换支付方式。',
  },
)

const methods: readonly PayMethod[] = ['ALIPAY', 'WECHAT', 'BALANCE']

/** Pays or cancels an order. */
export function Pay({ order, refetch }: { order: OrderStateFragment; refetch: () => void }) {
  const t = useTexts()
  const { money } = useFormat()
  const [method, setMethod] = useState<PayMethod>('ALIPAY')
  const [{ data }] = useApiQuery({ query: PayBalanceDocument })
  const balance = data?.me?.balance ?? 0
  const payable = (name: PayMethod) => name !== 'BALANCE' || balance >= order.payValue
  const [waiting, setWaiting] = useState(false)
  const [pay, paying] = useApiMutation(PayOrderDocument, { toastErrors: false })
  const userErrorText = useUserErrorText()

  const submit = async () => {
    const result = await pay({ orderId: order.id, method })
    setWaiting(result.ok && result.value.order?.status === 'UNPAID')
    if (result.ok) return
    // An order that is still unpaid was not rejected: its payment was.
    const { status, payBefore = null } = result.value?.order ?? {}
    const open =
      status === 'UNPAID' && (payBefore === null || new Date(payBefore).getTime() > serverNow())
    const [userError] = result.userErrors
    if (userError)
      toast(userError.code === 'ORDER_NOT_PAYABLE' && open ? t.refused : userErrorText(userError))
    // The order may have changed.
    refetch()
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
      <Button wide busy={paying} onClick={() => void submit()}>
        {t.pay(money(order.payValue))}
      </Button>
      <ConfirmButton action="cancel" orderId={order.id} refetch={refetch} />
    </div>
  )
}
