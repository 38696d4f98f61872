import type { OrderStatus } from '@/api/types.gql'
import { texts } from '@/i18n/texts'

const useTexts = texts<Record<OrderStatus, string>>(
  {
    QUEUED: 'In the queue',
    UNPAID: 'Not paid yet',
    PAID: 'Paid, not used',
    USED: 'Used',
    CANCELLED: 'Cancelled',
    REFUNDING: 'Being refunded',
    REFUNDED: 'Refunded',
    FAILED: 'Failed',
  },
  {
    QUEUED: '排队中',
    UNPAID: '待付款',
    PAID: '待使用',
    USED: '已使用',
    CANCELLED: '已取消',
    REFUNDING: '退款中',
    REFUNDED: '已退款',
    FAILED: '下单失败',
  },
)

/** Statuses that a shop's order list can contain. */
export const statuses: readonly OrderStatus[] = [
  'PAID',
  'USED',
  'UNPAID',
  'CANCELLED',
  'REFUNDING',
  'REFUNDED',
]

/** Returns a function that names an order status for merchants. */
export function useStatusName(): (status: OrderStatus) => string {
  const t = useTexts()
  return (status) => t[status]
}
