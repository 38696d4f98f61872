import type { OrderStatus } from '@/api/types.gql'

// What is told of an order comes by several ways, and may overtake each other. An order only ever
// goes on, so what has come further is newer.

// An administrator can refund a used order, so USED comes before REFUNDING.
const ranks: Record<OrderStatus, number> = {
  QUEUED: 0,
  UNPAID: 1,
  PAID: 2,
  USED: 3,
  REFUNDING: 4,
  CANCELLED: 5,
  REFUNDED: 5,
  FAILED: 5,
}
const last = 5

interface Told {
  readonly id: string
  readonly status: OrderStatus
  readonly redemptionDisputedAt: string | null
}

/** Whether nothing can become of the order any more. */
export function isFinal(status: OrderStatus): boolean {
  return status === 'USED' || ranks[status] === last
}

/** What is true of an order after something was told of it: an older state changes nothing. */
export function newest<T extends Told>(known: T | null, told: T | null | undefined): T | null {
  if (!told) return known
  if (known === null || known.id !== told.id) return told
  const [before, after] = [ranks[known.status], ranks[told.status]]
  if (after < before) return known
  if (after === before && known.redemptionDisputedAt !== null && told.redemptionDisputedAt === null)
    return known
  // No way leads from one end to another, but that a disputed use is refunded.
  if (known.status === told.status || !isFinal(known.status) || !isFinal(told.status)) return told
  return known.status === 'USED' && told.status === 'REFUNDED' ? told : known
}
