import { mapExchange, type Exchange, type Operation } from '@urql/core'

const toggles = /^(?:like|unlike|follow|unfollow)/i

/**
 * Sends likes and follows of the same note, comment or user one at a time. Parallel requests can
 * arrive out of order and leave the older state.
 */
export function serialExchange(): Exchange {
  /** Operations that wait, by subject. A subject is present while a request is in flight. */
  const waiting = new Map<string, (() => void)[]>()
  return mapExchange({
    onOperation: (operation) => {
      const subject = subjectOf(operation)
      if (subject === null) return operation
      const queue = waiting.get(subject)
      if (queue === undefined) {
        waiting.set(subject, [])
        return operation
      }
      return new Promise<Operation>((resolve) => queue.push(() => resolve(operation)))
    },
    onResult: ({ operation }) => {
      const subject = subjectOf(operation)
      if (subject === null) return
      const next = waiting.get(subject)?.shift()
      if (next) next()
      else waiting.delete(subject)
    },
  })
}

function subjectOf({ kind, query, variables }: Operation): string | null {
  if (kind !== 'mutation') return null
  const [definition] = query.definitions
  const name = definition !== undefined && 'name' in definition ? definition.name?.value : undefined
  if (name === undefined || !toggles.test(name)) return null
  const { id, userId } = variables as { id?: string; userId?: string }
  return id ?? userId ?? null
}
