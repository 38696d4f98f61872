import { useState } from 'react'

import type { OrderStateFragment } from './order.gql'
import { newest } from './progress'

/** An order of a list as it is now: an answer that is older than an update does not set it back. */
export function useNewest<T extends OrderStateFragment>(told: T): T {
  const [known, setKnown] = useState<T>(told)
  const state = newest(known, told) ?? told
  if (state.status !== known.status || state.id !== known.id) setKnown(state)
  return state
}
