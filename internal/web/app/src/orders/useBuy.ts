import { useCallback, useEffect, useEffectEvent, useRef, useState } from 'react'
import { useClient } from 'urql'
import { useLocation } from 'wouter'

import { codeOf, type Refusal } from '@/api/errors'
import { lasting } from '@/app/shelf'
import { texts } from '@/i18n/texts'
import { useCatchUp } from '@/live/network'
import { useSession } from '@/session/session'
import { toast } from '@/ui/toast'

import { OrderVoucherDocument } from './buy.gql'
import { judge, makeIntents, type Intent } from './intents'

const useTexts = texts(
  { done: 'Your order was made: see Orders.', had: 'You had one already: here is your order.' },
  { done: '下单成功，请到“订单”中查看。', had: '你已经买过了，这是你的订单。' },
)

const intents = makeIntents({ shelf: lasting })

const soonest = 250 // ms before it is sent again by itself
const slowest = 30_000 // ms

type Now = Pick<Buying, 'state' | 'code' | 'refusal'>
const idle: Now = { state: 'idle', code: null, refusal: null }
const asking: Now = { state: 'asking', code: null, refusal: null }
const unknown: Now = { state: 'unknown', code: null, refusal: null }

export interface Buying {
  /** `unknown`: a try was made, and nobody knows yet what became of it. */
  readonly state: 'idle' | 'asking' | 'unknown'
  /** Why it is unknown: the code of an error; null for a network that failed. */
  readonly code: string | null
  /** Why there is no order, after the last try. */
  readonly refusal: Refusal | null
  /** Begins to buy, or tries again what is unknown. */
  readonly buy: () => void
}

/**
 * Buys one piece of a voucher, once: whatever happens to the requests, the page or the network,
 * tries go on with the same key until one is answered. Then it leads to the order.
 */
export function useBuy(voucherId: string, { onRefused }: { onRefused: () => void }): Buying {
  const t = useTexts()
  const session = useSession()
  const client = useClient()
  const [, navigate] = useLocation()
  const userId = session?.userId ?? null

  const [found] = useState(() => (userId === null ? null : intents.open(userId, voucherId)))
  const [now, setNow] = useState<Now>(() => {
    if (userId === null || found === null) return idle
    return intents.recent(userId, voucherId, found) === null ? unknown : asking
  })
  const unheard = useRef(found) // the intent that is asked for, or unknown
  const flying = useRef(false)
  const shown = useRef(false)
  const tried = useRef({ at: 0, times: 0 }) // by itself, without an answer
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const refused = useEffectEvent(onRefused)

  const send = useCallback(
    async (of: string, intent: Intent) => {
      if (flying.current) return
      flying.current = true
      unheard.current = intent
      const { data, error } = await client
        .mutation(OrderVoucherDocument, { voucherId, idempotencyKey: intent.key })
        .toPromise()
      flying.current = false
      tried.current = { at: Date.now(), times: tried.current.times + 1 }

      const payload = data?.orderVoucher
      const verdict = judge({
        order: payload?.order,
        refusals: payload?.userErrors.map(({ code }) => code),
        failure: error === undefined ? undefined : codeOf(error),
      })
      if (verdict.kind === 'unknown') {
        setNow({ ...unknown, code: verdict.code })
        return
      }
      intents.end(of, voucherId, intent)
      unheard.current = null
      const orderId = 'orderId' in verdict ? verdict.orderId : null
      if (orderId === null) {
        const code = 'code' in verdict ? verdict.code : 'ALREADY_ORDERED'
        const [refusal] = payload?.userErrors ?? []
        const known = { code: code as Refusal['code'], message: error?.message ?? code }
        setNow({ state: 'idle', code: null, refusal: refusal ?? known })
        return
      }
      setNow(idle)
      if (!shown.current) toast(t.done)
      else {
        if (verdict.kind === 'had') toast(t.had)
        navigate(`/orders/${orderId}`)
      }
    },
    [client, voucherId, navigate, t],
  )

  // What was left open is sent again as soon as somebody comes back to it, unless that took long.
  const resume = useEffectEvent(() => {
    const intent = userId === null ? null : intents.recent(userId, voucherId, unheard.current)
    if (userId === null || intent === null) return false
    void send(userId, intent)
    return true
  })
  useEffect(() => {
    shown.current = true
    // oxlint-disable-next-line react/set-state-in-effect -- it sets it when the answer is there
    resume()
    return () => {
      shown.current = false
      clearTimeout(timer.current)
    }
  }, [])
  // A network may come back again and again without an answer to this.
  useCatchUp(() => {
    const { at, times } = tried.current
    clearTimeout(timer.current)
    timer.current = setTimeout(
      () => {
        if (resume()) setNow(asking)
      },
      Math.max(0, at + Math.min(soonest * 2 ** times, slowest) - Date.now()),
    )
  })

  const { refusal } = now
  useEffect(() => {
    if (refusal !== null) refused()
  }, [refusal])

  const buy = () => {
    if (userId === null) return
    setNow(asking)
    tried.current = { at: 0, times: 0 }
    void send(userId, intents.begin(userId, voucherId, unheard.current))
  }
  return { ...now, buy }
}
