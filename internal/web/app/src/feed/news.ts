import { useSyncExternalStore } from 'react'

import { createStore } from '@/app/store'

/** How many notes have come that the feed does not show yet. */
export const news = createStore(0)

export function useNews(): number {
  return useSyncExternalStore(news.subscribe, news.get)
}
