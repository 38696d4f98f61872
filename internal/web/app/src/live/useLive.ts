import { useEffect, useRef } from 'react'
import { useSubscription, type UseSubscriptionArgs, type UseSubscriptionState } from 'urql'

import { codeOf } from '@/api/errors'

import { useCatchUp } from './network'

const shortest = 5000 // ms before updates that ended begin again
const longest = 60_000 // ms

/**
 * Follows updates for as long as it is not paused: breaks of the network are the socket's to mend,
 * and updates that the server has ended, or refused, begin again later, and at once when the page
 * comes back from the background.
 */
export function useLive<Data, Variables extends object>(
  args: UseSubscriptionArgs<Variables, Data>,
): UseSubscriptionState<Data, Variables> {
  const [state, begin] = useSubscription<Data, Data, Variables>(args)
  // Updates that end have an error, and go on to be `fetching` for the hook. What there is not will
  // not be there later either.
  const hopeless = state.error !== undefined && codeOf(state.error) === 'BAD_USER_INPUT'
  const ended = args.pause === true || hopeless ? undefined : state.error
  const wait = useRef(shortest)
  useEffect(() => {
    if (ended === undefined) return undefined
    const timer = setTimeout(() => {
      wait.current = Math.min(wait.current * 2, longest)
      begin()
    }, wait.current)
    return () => clearTimeout(timer)
  }, [ended, begin])
  useCatchUp(() => {
    if (ended !== undefined) begin()
  })
  return state
}
