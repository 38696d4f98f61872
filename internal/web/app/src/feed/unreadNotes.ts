import { useSyncExternalStore } from 'react'

import { createStore } from '@/app/store'

/** Number of notes that the feed does not show yet. */
export const unreadNotes = createStore(0)

export function useUnreadNotes(): number {
  return useSyncExternalStore(unreadNotes.subscribe, unreadNotes.get)
}
