import { texts } from '@/i18n/texts'

import type { FilterChip } from './filters'

/** Labels of the filter chips. */
export const useFilterTexts = texts<Record<FilterChip['name'], string>>(
  {
    openNow: 'Open now',
    score4: '4+ stars',
    score45: '4.5+ stars',
    vouchers: 'Vouchers',
    sales: 'Flash sales',
  },
  {
    openNow: '营业中',
    score4: '4 分以上',
    score45: '4.5 分以上',
    vouchers: '代金券',
    sales: '秒杀',
  },
)
