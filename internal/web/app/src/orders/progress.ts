import type { OrderStatus } from '@/api/types.gql'

// Updates of an order arrive by several channels and can overtake each other. Orders only move
// forward, so the state with the higher rank is newer.

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
const finalRank = 5

interface OrderState {
  readonly id: string
  readonly status: OrderStatus
  readonly redemptionDisputedAt: string | null
}

/** Reports whether the order needs no more updates. */
export function isFinal(status: OrderStatus): boolean {
  return status === 'USED' || ranks[status] === finalRank
}

/** Merges an update into the known state. Older states are ignored. */
export function latestState<T extends OrderState>(
  known: T | null,
  update: T | null | undefined,
): T | null {
  if (!update) return known
  if (known === null || known.id !== update.id) return update
  const [before, after] = [ranks[known.status], ranks[update.status]]
  if (after < before) return known
  if (
    after === before &&
    known.redemptionDisputedAt !== null &&
    update.redemptionDisputedAt === null
  )
    return known
  // Final states do not change, except when a disputed redemption is refunded.
  if (known.status === update.status || !isFinal(known.status) || !isFinal(update.status))
    return update
  return known.status === 'USED' && update.status === 'REFUNDED' ? update : known
}
