import { useState } from 'react'
import { useQuery, type UseQueryArgs, type UseQueryResponse } from 'urql'

import { useOnResume } from '@/live/network'

interface Options {
  /** Refetch after reconnecting and when the page becomes visible. Default: true. */
  readonly refetchOnResume?: boolean
}

/**
 * Reads from the API like urql's useQuery. It shows cached data first and refetches on resume. When
 * a refetch fails, `data` stays and `error` is set. `data` also stays when another query
 * invalidates part of it.
 */
export function useApiQuery<Data, Variables extends object>(
  args: UseQueryArgs<Variables, Data> & Options,
): UseQueryResponse<Data, Variables> {
  const { refetchOnResume = true, ...rest } = args
  const [result, refetch] = useQuery<Data, Variables>({
    requestPolicy: 'cache-and-network',
    ...rest,
  } as UseQueryArgs<Variables, Data>)
  useOnResume(() => {
    if (refetchOnResume && rest.pause !== true) refetch({ requestPolicy: 'network-only' })
  })

  const { data, operation } = result
  const [retained, setRetained] = useState<{
    readonly of?: number | undefined
    readonly data?: Data
  }>({})
  if (data && retained.data !== data) setRetained({ of: operation?.key, data })
  if (data) return [result, refetch]
  // `data` can be null despite its type, for example with partial errors.
  const previous = retained.of === operation?.key ? retained.data : undefined
  return [{ ...result, data: previous } as typeof result, refetch]
}
