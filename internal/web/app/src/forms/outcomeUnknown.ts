import type { CombinedError } from '@urql/core'

import { errorCode } from '@/api/errors'

/** Reports whether a mutation may have run although its response was lost. */
export function isOutcomeUnknown(error: CombinedError | undefined): boolean {
  if (error === undefined) return false
  return error.networkError !== undefined || errorCode(error) === 'TIMEOUT'
}
