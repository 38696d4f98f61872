import { useSyncExternalStore } from 'react'

import { lasting } from '@/app/shelf'
import { createStore } from '@/app/store'

/** Somebody who is signed in. */
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

/** The session outside of a component. */
export const currentSession = store.get

export function begin(session: Session): void {
  lasting.setItem(key, JSON.stringify(session))
  store.set(session)
}

/** Forgets the session here. The server's is ended by the logout mutation before. */
export function end(): void {
  lasting.removeItem(key)
  store.set(null)
}

/** Forgets a session that the server does not know any more, unless another began meanwhile. */
export function expire(token: string): void {
  // Who slept in the background has not heard yet of what other tabs did.
  const kept = read()
  if (kept?.token === token) end()
  else if (store.get()?.token === token) store.set(kept)
}

function read(): Session | null {
  try {
    const value: unknown = JSON.parse(lasting.getItem(key) ?? 'null')
    if (value === null || typeof value !== 'object') return null
    const { token, userId } = value as Partial<Session>
    return typeof token === 'string' && typeof userId === 'string' ? { token, userId } : null
  } catch {
    return null // written by something else
  }
}
