import { useEffect, useState } from 'react'

import { errorCode } from '@/api/errors'
import { useApiQuery } from '@/api/useApiQuery'
import { useLive } from '@/live/useLive'

import { OrderDocument, OrderUpdatesDocument, type OrderStateFragment } from './order.gql'
import { isFinal, latestState } from './progress'

const pollInterval = 4000 // ms

const changed = (a: OrderStateFragment | null, b: OrderStateFragment | null) =>
  a?.status !== b?.status || a?.redemptionDisputedAt !== b?.redemptionDisputedAt

/** Reads an order, subscribes to it until it is final, and refetches on resume. */
export function useOrder(id: string) {
  const [{ data, error, fetching }, refetch] = useApiQuery({
    query: OrderDocument,
    variables: { id },
  })
  const [known, setKnown] = useState<OrderStateFragment | null>(null)
  const final = known !== null && isFinal(known.status)
  const { data: update, error: liveError } = useLive({
    query: OrderUpdatesDocument,
    variables: { orderId: id },
    pause: final,
  })

  const state = latestState(latestState(known, data?.order), update?.orderUpdates)
  if (state !== known && changed(state, known)) setKnown(state)

  // Polls queued orders in case the subscription fails.
  const queued = state?.status === 'QUEUED'
  useEffect(() => {
    if (!queued) return undefined
    const timer = setInterval(() => refetch({ requestPolicy: 'network-only' }), pollInterval)
    return () => clearInterval(timer)
  }, [queued, refetch])

  return {
    state,
    voucher: data?.order?.voucher ?? null,
    terms: data?.order?.terms ?? null,
    redeemedBy: state?.redeemedBy?.nickname ?? null,
    /** The order does not exist, or the viewer may not see it. */
    notFound:
      data?.order === null || (error !== undefined && errorCode(error) === 'BAD_USER_INPUT'),
    error,
    fetching,
    /** False for shop staff: only buyers receive updates. */
    isOwn: liveError === undefined || errorCode(liveError) !== 'BAD_USER_INPUT',
    refetch: () => refetch({ requestPolicy: 'network-only' }),
  }
}
