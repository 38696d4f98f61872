import type { CombinedError } from '@urql/core'

import { codeOf } from '@/api/errors'

/** Whether what was asked for may have been done all the same: nobody heard the answer. */
export function leavesOpen(error: CombinedError | undefined): boolean {
  if (error === undefined) return false
  return error.networkError !== undefined || codeOf(error) === 'TIMEOUT'
}
