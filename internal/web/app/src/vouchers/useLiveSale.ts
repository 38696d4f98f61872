import { useSeconds } from '@/app/clock'
import { useLive } from '@/live/useLive'

import { LiveSaleDocument } from './live-sale.gql'
import { phaseAt } from './phase'
import type { SaleStateFragment } from './sale-card.gql'

/**
 * How a flash sale stands now. Updates go into the cache, and come back in `sale`; the phase follows
 * the server's clock between them.
 */
export function useLiveSale(sale: SaleStateFragment): SaleStateFragment {
  const now = useSeconds()
  const phase = phaseAt(sale, now * 1000)
  useLive({
    query: LiveSaleDocument,
    variables: { voucherId: sale.voucherId },
    pause: phase === 'ENDED',
  })
  return { ...sale, phase }
}
