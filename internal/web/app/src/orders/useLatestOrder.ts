import { useState } from 'react'

import type { OrderStateFragment } from './order.gql'
import { latestState } from './progress'

/**
 * Returns the latest known state of a listed order. Stale responses do not override newer updates.
 */
export function useLatestOrder<T extends OrderStateFragment>(listed: T): T {
  const [known, setKnown] = useState<T>(listed)
  const state = latestState(known, listed) ?? listed
  if (state.status !== known.status || state.id !== known.id) setKnown(state)
  return state
}
