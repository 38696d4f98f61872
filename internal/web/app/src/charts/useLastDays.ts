import type { CombinedError } from 'urql'

import { useApiQuery } from '@/api/useApiQuery'

import { lastDays, type Days } from './days'
import { ServerTodayDocument } from './today.gql'

interface LastDays {
  /** Null until the server's date is known. */
  readonly range: Days | null
  readonly error: CombinedError | undefined
  /** Refetches the server's date. */
  readonly refetch: () => void
}

/**
 * Returns the last `count` days up to today in the server's time zone. The browser's date can
 * differ.
 */
export function useLastDays(count: number): LastDays {
  const [{ data, error }, refetch] = useApiQuery({ query: ServerTodayDocument, variables: {} })
  const today = data?.me?.checkIns?.today
  return {
    range: today === undefined ? null : lastDays(count, today),
    error,
    refetch: () => refetch({ requestPolicy: 'network-only' }),
  }
}
