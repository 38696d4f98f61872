import type { OrderStatus } from '@/api/types.gql'
import { useApiQuery } from '@/api/useApiQuery'
import { useSession } from '@/session/session'

import { LiveOrdersDocument } from './buy.gql'

const activeStatuses = new Set<OrderStatus>(['QUEUED', 'UNPAID', 'PAID', 'USED', 'REFUNDING'])

/**
 * Returns the viewer's active order that blocks another purchase of this voucher; null if there is
 * none.
 */
export function useExistingOrder(voucher: {
  readonly id: string
  readonly onePerUser: boolean
}): string | null {
  const session = useSession()
  const pause = session === null || !voucher.onePerUser
  const [{ data }] = useApiQuery({ query: LiveOrdersDocument, variables: {}, pause })
  if (pause) return null
  const edge = data?.me?.orders?.edges.find(
    // The cached order may have changed since the list was read.
    ({ node }) => node.voucher.id === voucher.id && activeStatuses.has(node.status),
  )
  return edge?.node.id ?? null
}
