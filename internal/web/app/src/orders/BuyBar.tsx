import { useState } from 'react'
import { Link } from 'wouter'

import { useRefusalText } from '@/api/errors'
import { useFormat } from '@/i18n/format'
import { texts } from '@/i18n/texts'
import { useSession } from '@/session/session'
import { signInPath } from '@/session/useSignedIn'
import { Button, ButtonLink } from '@/ui/Button'

import css from './BuyBar.module.css'
import { useBuy } from './useBuy'
import { useHad } from './useHad'

const useTexts = texts(
  {
    buy: 'Buy now',
    asking: 'Ordering…',
    again: 'Try again',
    unknown: 'We do not know yet whether your order went through. Trying again buys only one.',
    orders: 'See my orders',
    signIn: 'Sign in to buy',
    had: 'You have one of these.',
    see: 'See your order',
    RATE_LIMITED: 'Too many tries at once.',
    UNAVAILABLE: 'Very many people are buying right now.',
  },
  {
    buy: '立即购买',
    asking: '正在下单…',
    again: '再试一次',
    unknown: '还不确定是否下单成功。再试一次也只会买一份。',
    orders: '查看我的订单',
    signIn: '登录后购买',
    had: '你已经买过了。',
    see: '查看订单',
    RATE_LIMITED: '操作太频繁。',
    UNAVAILABLE: '抢购的人太多了。',
  },
)

interface BuyBarProps {
  readonly voucher: {
    readonly id: string
    readonly payValue: number
    readonly onePerUser: boolean
  }
  /** Why it cannot be bought now, as the button says it; null if it can. */
  readonly closed: string | null
  /** It will be possible: who is not signed in does that meanwhile. */
  readonly soon?: boolean
  /** The server refused: what is shown of the voucher may be old. */
  readonly onRefused: () => void
}

/** The price of a voucher and the button that buys it, always in sight on phones. */
export function BuyBar({ voucher, closed, soon = false, onRefused }: BuyBarProps) {
  const t = useTexts()
  const { money } = useFormat()
  const session = useSession()
  const had = useHad(voucher)
  const { state, code, refusal: last, buy } = useBuy(voucher.id, { onRefused })
  const refusalText = useRefusalText()
  const unknown = state === 'unknown'
  // Why it was refused does not hold any more once it can be bought again.
  const [was, setWas] = useState({ closed, refusal: last })
  if (closed !== was.closed) setWas({ closed, refusal: closed === null ? last : null })
  const refusal = last === was.refusal ? null : last

  let button = (
    <Button wide onClick={buy}>
      {t.buy}
    </Button>
  )
  if (state !== 'idle') {
    button = (
      <Button wide busy={state === 'asking'} onClick={buy}>
        {unknown ? t.again : t.asking}
      </Button>
    )
  } else if (had !== null) {
    button = (
      <ButtonLink wide href={`/orders/${had}`}>
        {t.see}
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
        {refusal !== null && state === 'idle' && (
          <p className={css.refused} data-refusal={refusal.code}>
            {refusalText(refusal)}
          </p>
        )}
        {had !== null && state === 'idle' && refusal === null && <p className={css.had}>{t.had}</p>}
      </div>
      <strong className={css.price}>{money(voucher.payValue)}</strong>
      {button}
    </div>
  )
}
