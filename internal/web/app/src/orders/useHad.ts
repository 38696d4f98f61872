import type { OrderStatus } from '@/api/types.gql'
import { useAsk } from '@/api/useAsk'
import { useSession } from '@/session/session'

import { LiveOrdersDocument } from './buy.gql'

const live = new Set<OrderStatus>(['QUEUED', 'UNPAID', 'PAID', 'USED', 'REFUNDING'])

/** The viewer's order that keeps him from another one of this voucher; null if there is none. */
export function useHad(voucher: {
  readonly id: string
  readonly onePerUser: boolean
}): string | null {
  const session = useSession()
  const pause = session === null || !voucher.onePerUser
  const [{ data }] = useAsk({ query: LiveOrdersDocument, variables: {}, pause })
  if (pause) return null
  const edge = data?.me?.orders?.edges.find(
    // One that is in the cache may have become another since the list was asked for.
    ({ node }) => node.voucher.id === voucher.id && live.has(node.status),
  )
  return edge?.node.id ?? null
}
