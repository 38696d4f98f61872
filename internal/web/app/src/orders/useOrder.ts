import { useEffect, useState } from 'react'

import { codeOf } from '@/api/errors'
import { useAsk } from '@/api/useAsk'
import { useLive } from '@/live/useLive'

import { OrderDocument, OrderUpdatesDocument, type OrderStateFragment } from './order.gql'
import { isFinal, newest } from './progress'

const between = 4000 // ms

const changed = (a: OrderStateFragment | null, b: OrderStateFragment | null) =>
  a?.status !== b?.status || a?.redemptionDisputedAt !== b?.redemptionDisputedAt

/**
 * An order as it is now: asked for, followed for as long as something can become of it, and asked
 * for again after each time that something may have been missed.
 */
export function useOrder(id: string) {
  const [{ data, error, fetching }, ask] = useAsk({ query: OrderDocument, variables: { id } })
  const [known, setKnown] = useState<OrderStateFragment | null>(null)
  const over = known !== null && isFinal(known.status)
  const { data: update, error: cut } = useLive({
    query: OrderUpdatesDocument,
    variables: { orderId: id },
    pause: over,
  })

  const state = newest(newest(known, data?.order), update?.orderUpdates)
  if (state !== known && changed(state, known)) setKnown(state)

  // Whoever waits for an order is told of it; should that fail, it is asked for.
  const waits = state?.status === 'QUEUED'
  useEffect(() => {
    if (!waits) return undefined
    const timer = setInterval(() => ask({ requestPolicy: 'network-only' }), between)
    return () => clearInterval(timer)
  }, [waits, ask])

  return {
    state,
    voucher: data?.order?.voucher ?? null,
    terms: data?.order?.terms ?? null,
    redeemedBy: state?.redeemedBy?.nickname ?? null,
    /** There is none that the viewer may see. */
    lost: data?.order === null || (error !== undefined && codeOf(error) === 'BAD_USER_INPUT'),
    error,
    fetching,
    /** Those of a shop see the orders of others; only one's own are told of. */
    own: cut === undefined || codeOf(cut) !== 'BAD_USER_INPUT',
    ask: () => ask({ requestPolicy: 'network-only' }),
  }
}
