import { useState } from 'react'
import { useQuery, type UseQueryArgs, type UseQueryResponse } from 'urql'

import { useCatchUp } from '@/live/network'

interface Options {
  /** Ask again after a time without a network or in the background; by default yes. */
  readonly catchUp?: boolean
}

/**
 * Asks the API, as urql's useQuery does, and shows what the cache has until the answer is there.
 * After a time without a network it asks again. What is shown stays when asking again fails: there
 * is an `error` beside `data` then.
 */
export function useAsk<Data, Variables extends object>(
  args: UseQueryArgs<Variables, Data> & Options,
): UseQueryResponse<Data, Variables> {
  const { catchUp = true, ...rest } = args
  const [result, ask] = useQuery<Data, Variables>({
    requestPolicy: 'cache-and-network',
    ...rest,
  } as UseQueryArgs<Variables, Data>)
  useCatchUp(() => {
    if (catchUp && rest.pause !== true) ask({ requestPolicy: 'network-only' })
  })

  const { data, error, operation } = result
  const [kept, setKept] = useState<{ readonly of?: number | undefined; readonly data?: Data }>({})
  if (data && kept.data !== data) setKept({ of: operation?.key, data })
  if (data || !error) return [result, ask]
  // The type does not say so, but where there are only errors `data` may be null.
  const still = kept.of === operation?.key ? kept.data : undefined
  return [{ ...result, data: still } as typeof result, ask]
}
