import { useCallback, useEffect, useEffectEvent, useRef, useState } from 'react'
import { useClient } from 'urql'
import { useLocation } from 'wouter'

import { errorCode, type UserError } from '@/api/errors'
import { safeLocalStorage } from '@/app/safeStorage'
import { texts } from '@/i18n/texts'
import { useOnResume } from '@/live/network'
import { useSession } from '@/session/session'
import { toast } from '@/ui/toast'

import { OrderVoucherDocument } from './buy.gql'
import { interpretResponse, createPurchaseIntents, type PurchaseIntent } from './purchaseIntents'

const useTexts = texts(
  {
    done: 'Order placed. Find it in Orders.',
    existing: 'You already bought this. Here’s your order.',
  },
  { done: '下单成功，可在“订单”中查看。', existing: '你已购买过，这是你的订单。' },
)

const intents = createPurchaseIntents({ storage: safeLocalStorage })

const minRetryWait = 250 // ms before an automatic retry
const maxRetryWait = 30_000 // ms

type Status = Pick<Buying, 'state' | 'code' | 'userError'>
const idle: Status = { state: 'idle', code: null, userError: null }
const ordering: Status = { state: 'ordering', code: null, userError: null }
const unknown: Status = { state: 'unknown', code: null, userError: null }

export interface Buying {
  /** `unknown`: an attempt was made and its outcome is unknown. */
  readonly state: 'idle' | 'ordering' | 'unknown'
  /** Error code of an unknown outcome; null for a network failure. */
  readonly code: string | null
  /** Reason for the last rejection. */
  readonly userError: UserError | null
  /** Buys the voucher, or retries after an unknown outcome. */
  readonly buy: () => void
}

/**
 * Buys one voucher exactly once. It retries with the same key across lost responses and reloads,
 * then navigates to the order.
 */
export function useBuy(voucherId: string, { onRefused }: { onRefused: () => void }): Buying {
  const t = useTexts()
  const session = useSession()
  const client = useClient()
  const [, navigate] = useLocation()
  const userId = session?.userId ?? null

  const [found] = useState(() => (userId === null ? null : intents.open(userId, voucherId)))
  const [now, setNow] = useState<Status>(() => {
    if (userId === null || found === null) return idle
    return intents.recent(userId, voucherId, found) === null ? unknown : ordering
  })
  const pending = useRef(found) // intent in flight or with unknown outcome
  const inFlight = useRef(false)
  const mounted = useRef(false)
  const attempts = useRef({ at: 0, times: 0 }) // automatic attempts without a response
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const refused = useEffectEvent(onRefused)

  const send = useCallback(
    async (of: string, intent: PurchaseIntent) => {
      if (inFlight.current) return
      inFlight.current = true
      pending.current = intent
      const { data, error } = await client
        .mutation(OrderVoucherDocument, { voucherId, idempotencyKey: intent.key })
        .toPromise()
      inFlight.current = false
      attempts.current = { at: Date.now(), times: attempts.current.times + 1 }

      const payload = data?.orderVoucher
      const outcome = interpretResponse({
        order: payload?.order,
        userErrors: payload?.userErrors.map(({ code }) => code),
        failure: error === undefined ? undefined : errorCode(error),
      })
      if (outcome.kind === 'unknown') {
        setNow({ ...unknown, code: outcome.code })
        return
      }
      intents.end(of, voucherId, intent)
      pending.current = null
      const orderId = 'orderId' in outcome ? outcome.orderId : null
      if (orderId === null) {
        const code = 'code' in outcome ? outcome.code : 'ALREADY_ORDERED'
        const [userError] = payload?.userErrors ?? []
        const known = { code: code as UserError['code'], message: error?.message ?? code }
        setNow({ state: 'idle', code: null, userError: userError ?? known })
        return
      }
      setNow(idle)
      if (!mounted.current) toast(t.done)
      else {
        if (outcome.kind === 'existing') toast(t.existing)
        navigate(`/orders/${orderId}`)
      }
    },
    [client, voucherId, navigate, t],
  )

  // Resumes a recent pending purchase automatically.
  const resume = useEffectEvent(() => {
    const intent = userId === null ? null : intents.recent(userId, voucherId, pending.current)
    if (userId === null || intent === null) return false
    void send(userId, intent)
    return true
  })
  useEffect(() => {
    mounted.current = true
    // oxlint-disable-next-line react/set-state-in-effect -- it sets it when the answer is there
    resume()
    return () => {
      mounted.current = false
      clearTimeout(timer.current)
    }
  }, [])
  // Backs off: the network can return many times before a response arrives.
  useOnResume(() => {
    const { at, times } = attempts.current
    clearTimeout(timer.current)
    timer.current = setTimeout(
      () => {
        if (resume()) setNow(ordering)
      },
      Math.max(0, at + Math.min(minRetryWait * 2 ** times, maxRetryWait) - Date.now()),
    )
  })

  const { userError } = now
  useEffect(() => {
    if (userError !== null) refused()
  }, [userError])

  const buy = () => {
    if (userId === null) return
    setNow(ordering)
    attempts.current = { at: 0, times: 0 }
    void send(userId, intents.begin(userId, voucherId, pending.current))
  }
  return { ...now, buy }
}
