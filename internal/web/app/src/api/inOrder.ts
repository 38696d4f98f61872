import { mapExchange, type Exchange, type Operation } from '@urql/core'

const switches = /^(?:like|unlike|follow|unfollow)/i

/**
 * Sends what is liked, followed and taken back of one thing one after the other: of two that are
 * under way at once the first may arrive last, and would stay.
 */
export function inOrder(): Exchange {
  /** Of each thing of which something is under way, who waits for the answer. */
  const waiting = new Map<string, (() => void)[]>()
  return mapExchange({
    onOperation: (operation) => {
      const thing = thingOf(operation)
      if (thing === null) return operation
      const others = waiting.get(thing)
      if (others === undefined) {
        waiting.set(thing, [])
        return operation
      }
      return new Promise<Operation>((resolve) => others.push(() => resolve(operation)))
    },
    onResult: ({ operation }) => {
      const thing = thingOf(operation)
      if (thing === null) return
      const next = waiting.get(thing)?.shift()
      if (next) next()
      else waiting.delete(thing)
    },
  })
}

function thingOf({ kind, query, variables }: Operation): string | null {
  if (kind !== 'mutation') return null
  const [definition] = query.definitions
  const name = definition !== undefined && 'name' in definition ? definition.name?.value : undefined
  if (name === undefined || !switches.test(name)) return null
  const { id, userId } = variables as { id?: string; userId?: string }
  return id ?? userId ?? null
}
