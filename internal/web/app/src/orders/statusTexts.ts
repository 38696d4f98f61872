import type { OrderStatus } from '@/api/types.gql'
import { texts } from '@/i18n/texts'

/** Short names of order statuses. */
export const useStatusTexts = texts<Record<OrderStatus, string>>(
  {
    QUEUED: 'Confirming',
    UNPAID: 'Unpaid',
    PAID: 'Ready to use',
    USED: 'Used',
    CANCELLED: 'Cancelled',
    REFUNDING: 'Refund in progress',
    REFUNDED: 'Refunded',
    FAILED: 'Order failed',
  },
  {
    QUEUED: '确认中',
    UNPAID: '待付款',
    PAID: '待使用',
    USED: '已使用',
    CANCELLED: '已取消',
    REFUNDING: '退款中',
    REFUNDED: '已退款',
    FAILED: '下单失败',
  },
)
