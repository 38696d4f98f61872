import { useSeconds } from '@/app/clock'
import { useLive } from '@/live/useLive'

import { LiveSaleDocument } from './live-sale.gql'
import { phaseAt } from './phase'
import type { SaleStateFragment } from './sale-card.gql'

/**
 * Returns the live state of a flash sale. The cache applies updates to `sale`. Between updates, the
 * phase follows the server's clock.
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
