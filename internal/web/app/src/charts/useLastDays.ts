import type { CombinedError } from 'urql'

import { useAsk } from '@/api/useAsk'

import { lastDays, type Days } from './days'
import { ServerTodayDocument } from './today.gql'

interface LastDays {
  /** Null until the server has said which day it has. */
  readonly range: Days | null
  readonly error: CombinedError | undefined
  /** Asks again which day it is. */
  readonly ask: () => void
}

/**
 * The last so many days up to today, by the server's calendar: figures count its days, and the
 * browser may have another one already, or still.
 */
export function useLastDays(count: number): LastDays {
  const [{ data, error }, ask] = useAsk({ query: ServerTodayDocument, variables: {} })
  const today = data?.me?.checkIns?.today
  return {
    range: today === undefined ? null : lastDays(count, today),
    error,
    ask: () => ask({ requestPolicy: 'network-only' }),
  }
}
