import { useQuery, type UseQueryArgs, type UseQueryResponse } from 'urql'

import { useCatchUp } from '@/live/network'

interface Options {
  /** Ask again after a time without a network or in the background; by default yes. */
  readonly catchUp?: boolean
}

/**
 * Asks the API, as urql's useQuery does, and shows what the cache has until the answer is there.
 * After a time without a network it asks again.
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
  return [result, ask]
}
