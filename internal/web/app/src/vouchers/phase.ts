import type { SaleStateFragment } from './sale-card.gql'

/** Returns the phase of a sale at a time, in ms since 1970. */
export function phaseAt(sale: SaleStateFragment, now: number): SaleStateFragment['phase'] {
  if (now >= new Date(sale.endsAt).getTime()) return 'ENDED'
  if (now < new Date(sale.beginsAt).getTime()) return 'UPCOMING'
  return sale.stock > 0 ? 'OPEN' : 'SOLD_OUT'
}
