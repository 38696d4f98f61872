import { useEffect, useRef } from 'react'
import { useSubscription, type UseSubscriptionArgs, type UseSubscriptionState } from 'urql'

import { errorCode } from '@/api/errors'

import { useOnResume } from './network'

const minWait = 5000 // ms before ended updates restart
const maxWait = 60_000 // ms

/**
 * Subscribes while not paused. The socket handles network breaks. Updates that the server ended
 * restart with backoff, and immediately when the page becomes visible.
 */
export function useLive<Data, Variables extends object>(
  args: UseSubscriptionArgs<Variables, Data>,
): UseSubscriptionState<Data, Variables> {
  const [state, restart] = useSubscription<Data, Data, Variables>(args)
  // Ended updates have an error and stay `fetching`. A bad input never succeeds later.
  const permanent = state.error !== undefined && errorCode(state.error) === 'BAD_USER_INPUT'
  const ended = args.pause === true || permanent ? undefined : state.error
  const wait = useRef(minWait)
  useEffect(() => {
    if (ended === undefined) return undefined
    const timer = setTimeout(() => {
      wait.current = Math.min(wait.current * 2, maxWait)
      restart()
    }, wait.current)
    return () => clearTimeout(timer)
  }, [ended, restart])
  useOnResume(() => {
    if (ended !== undefined) restart()
  })
  return state
}
