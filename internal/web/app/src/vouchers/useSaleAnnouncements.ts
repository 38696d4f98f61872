import { useState } from 'react'

import { useSeconds } from '@/app/clock'
import { texts } from '@/i18n/texts'

import type { SaleStateFragment } from './sale-card.gql'
import { phaseAt } from './phase'

const useTexts = texts(
  {
    SOON: 'The sale starts in one minute.',
    OPEN: 'The sale has started.',
    SOLD_OUT: 'Sold out.',
    ENDED: 'The sale has ended.',
  },
  {
    SOON: '还有 1 分钟开抢。',
    OPEN: '秒杀已开始。',
    SOLD_OUT: '已抢光。',
    ENDED: '秒杀已结束。',
  },
)

type Stage = 'UPCOMING' | 'SOON' | 'OPEN' | 'SOLD_OUT' | 'ENDED'

/** Returns the announcement for the current stage of a sale, each stage once. */
export function useSaleAnnouncements(sale: SaleStateFragment): string {
  const t = useTexts()
  const stage = stageAt(sale, useSeconds() * 1000)
  const [{ seen, announced }, set] = useState<{ seen: readonly Stage[]; announced: Stage | null }>({
    seen: [stage],
    announced: null,
  })
  if (!seen.includes(stage)) set({ seen: [...seen, stage], announced: stage })
  // Sold out is not final: cancelled orders return stock.
  return announced === null || announced === 'UPCOMING' || announced !== stage ? '' : t[announced]
}

function stageAt(sale: SaleStateFragment, now: number): Stage {
  const phase = phaseAt(sale, now)
  const left = new Date(sale.beginsAt).getTime() - now
  return phase === 'UPCOMING' && left <= 60_000 ? 'SOON' : phase
}
