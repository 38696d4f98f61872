import { useState } from 'react'
import { useQuery, type UseQueryArgs, type UseQueryResponse } from 'urql'

import { useCatchUp } from '@/live/network'

interface Options {
  /** Ask again after a time without a network or in the background; by default yes. */
  readonly catchUp?: boolean
}

/**
 * Asks the API, as urql's useQuery does, and shows what the cache has until the answer is there.
 * After a time without a network it asks again. What is shown stays when asking again fails, with
 * an `error` beside `data`, and when the cache loses a part of it as another question fails.
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

  const { data, operation } = result
  const [kept, setKept] = useState<{ readonly of?: number | undefined; readonly data?: Data }>({})
  if (data && kept.data !== data) setKept({ of: operation?.key, data })
  if (data) return [result, ask]
  // The type does not say so, but `data` may be null: where there are only errors, and of a part.
  const still = kept.of === operation?.key ? kept.data : undefined
  return [{ ...result, data: still } as typeof result, ask]
}
