import { useState } from 'react'
import { Link } from 'wouter'

import { useUserErrorText } from '@/api/errors'
import { useFormat } from '@/i18n/format'
import { texts } from '@/i18n/texts'
import { useSession } from '@/session/session'
import { signInPath } from '@/session/useSignInGuard'
import { Button, ButtonLink } from '@/ui/Button'

import css from './BuyBar.module.css'
import { useBuy } from './useBuy'
import { useExistingOrder } from './useExistingOrder'

const useTexts = texts(
  {
    buy: 'Buy now',
    ordering: 'Placing your order…',
    again: 'Try again',
    unknown: 'We’re not sure your order went through. Trying again won’t buy a second one.',
    orders: 'View my orders',
    signIn: 'Sign in to buy',
    existing: 'You already bought this.',
    viewOrder: 'View order',
    RATE_LIMITED: 'Too many attempts.',
    UNAVAILABLE: 'It’s very busy right now.',
  },
  {
    buy: '立即购买',
    ordering: '正在下单…',
    again: '重试',
    unknown: '暂时无法确认是否下单成功。重试也只会购买 1 张。',
    orders: '查看我的订单',
    signIn: '登录后购买',
    existing: '你已购买过。',
    viewOrder: '查看订单',
    RATE_LIMITED: '操作太频繁。',
    UNAVAILABLE: '当前抢购的人太多。',
  },
)

interface BuyBarProps {
  readonly voucher: {
    readonly id: string
    readonly payValue: number
    readonly onePerUser: boolean
  }
  /** Button label while it cannot be bought; null if it can. */
  readonly closed: string | null
  /** It can be bought later: signed-out users can sign in now. */
  readonly soon?: boolean
  /** Called after a rejection: the shown voucher may be stale. */
  readonly onRefused: () => void
}

/** The price and the buy button, always visible on phones. */
export function BuyBar({ voucher, closed, soon = false, onRefused }: BuyBarProps) {
  const t = useTexts()
  const { money } = useFormat()
  const session = useSession()
  const existing = useExistingOrder(voucher)
  const { state, code, userError: last, buy } = useBuy(voucher.id, { onRefused })
  const userErrorText = useUserErrorText()
  const unknown = state === 'unknown'
  // A rejection no longer applies once the voucher can be bought again.
  const [was, setWas] = useState({ closed, userError: last })
  if (closed !== was.closed) setWas({ closed, userError: closed === null ? last : null })
  const userError = last === was.userError ? null : last

  let button = (
    <Button wide onClick={buy}>
      {t.buy}
    </Button>
  )
  if (state !== 'idle') {
    button = (
      <Button wide busy={state === 'ordering'} onClick={buy}>
        {unknown ? t.again : t.ordering}
      </Button>
    )
  } else if (existing !== null) {
    button = (
      <ButtonLink wide href={`/orders/${existing}`}>
        {t.viewOrder}
      </ButtonLink>
    )
  } else if (closed !== null && !(soon && session === null)) {
    button = (
      <Button wide disabled>
        {closed}
      </Button>
    )
  } else if (session === null) {
    button = (
      <ButtonLink wide href={signInPath()}>
        {t.signIn}
      </ButtonLink>
    )
  }

  const reason = code === 'RATE_LIMITED' || code === 'UNAVAILABLE' ? t[code] : null
  return (
    <div className={css.bar} data-buying={state}>
      <div role="status" className={css.notes}>
        {unknown && (
          <p className={css.unknown}>
            {reason} {t.unknown}{' '}
            <Link href="/orders" className={css.orders}>
              {t.orders}
            </Link>
          </p>
        )}
        {userError !== null && state === 'idle' && (
          <p className={css.refused} data-refusal={userError.code}>
            {userErrorText(userError)}
          </p>
        )}
        {existing !== null && state === 'idle' && userError === null && (
          <p className={css.existing}>{t.existing}</p>
        )}
      </div>
      <strong className={css.price}>{money(voucher.payValue)}</strong>
      {button}
    </div>
  )
}
