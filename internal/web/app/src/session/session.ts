import { useSyncExternalStore } from 'react'

import { safeLocalStorage } from '@/app/safeStorage'
import { createStore } from '@/app/store'

/** A signed-in session. */
export interface Session {
  readonly token: string
  readonly userId: string
}

const key = 'tandian.session'

const store = createStore<Session | null>(read())

// Other tabs sign in and out too.
window.addEventListener('storage', (event) => {
  if (event.key === key || event.key === null) store.set(read())
})

export function useSession(): Session | null {
  return useSyncExternalStore(store.subscribe, store.get)
}

/** Returns the session outside of components. */
export const currentSession = store.get

export function begin(session: Session): void {
  safeLocalStorage.setItem(key, JSON.stringify(session))
  store.set(session)
}

/** Forgets the session on this device. The logout mutation ends it on the server. */
export function end(): void {
  safeLocalStorage.removeItem(key)
  store.set(null)
}

/** Forgets a session that the server rejected, unless another one has started. */
export function expire(token: string): void {
  // Background tabs may have missed changes by other tabs.
  const stored = read()
  if (stored?.token === token) end()
  else if (store.get()?.token === token) store.set(stored)
}

function read(): Session | null {
  try {
    const value: unknown = JSON.parse(safeLocalStorage.getItem(key) ?? 'null')
    if (value === null || typeof value !== 'object') return null
    const { token, userId } = value as Partial<Session>
    return typeof token === 'string' && typeof userId === 'string' ? { token, userId } : null
  } catch {
    return null // invalid value
  }
}
