import type { OrderStatus } from '@/api/types.gql'

// What is told of an order comes by several ways, and may overtake each other. An order only ever
// goes on, so what has come further is newer.

const ranks: Record<OrderStatus, number> = {
  QUEUED: 0,
  UNPAID: 1,
  PAID: 2,
  REFUNDING: 3,
  USED: 4,
  CANCELLED: 4,
  REFUNDED: 4,
  FAILED: 4,
}
const last = 4

interface Told {
  readonly id: string
  readonly status: OrderStatus
}

/** Whether nothing can become of the order any more. */
export function isFinal(status: OrderStatus): boolean {
  return ranks[status] === last
}

/** What is true of an order after something was told of it: an older state changes nothing. */
export function newest<T extends Told>(known: T | null, told: T | null | undefined): T | null {
  if (!told) return known
  if (known === null || known.id !== told.id) return told
  const [before, after] = [ranks[known.status], ranks[told.status]]
  if (after < before) return known
  return after === last && before === last && known.status !== told.status ? known : told
}
