import { useCallback, useEffect, useSyncExternalStore } from 'react'
import { useClient } from 'urql'

import { ServerTimeDocument } from './clock.gql'
import { createStore } from './store'

// Device clocks can be minutes off. Sales open by the server's clock.

const offset = createStore(0) // ms, the server's clock minus the device's
let askedAt = -Infinity // performance.now() of the last sync
const maxAge = 5 * 60_000 // ms

/**
 * Returns the server's time in ms since 1970. It is the device's time until useServerTime has
 * synced.
 */
export function serverNow(): number {
  return Date.now() + offset.get()
}

/**
 * Syncs with the server's clock on mount and when the page becomes visible. It assumes equal
 * latency in both directions.
 */
export function useServerTime(): void {
  const client = useClient()
  const sync = useCallback(async () => {
    if (document.visibilityState !== 'visible' || performance.now() - askedAt < maxAge) return
    askedAt = performance.now()
    const sent = Date.now()
    const { data } = await client
      .query(ServerTimeDocument, {}, { requestPolicy: 'network-only' })
      .toPromise()
    const received = Date.now()
    if (data) offset.set(new Date(data.serverTime).getTime() - (sent + received) / 2)
    else askedAt = -Infinity
  }, [client])

  useEffect(() => {
    void sync()
    document.addEventListener('visibilitychange', sync)
    return () => document.removeEventListener('visibilitychange', sync)
  }, [sync])
}

const listeners = new Set<() => void>()
let timer: ReturnType<typeof setTimeout> | undefined
let second = Math.floor(serverNow() / 1000)

/**
 * Returns the server's time in whole seconds and rerenders every second. All users share one timer.
 */
export function useSeconds(): number {
  useServerTime()
  return useSyncExternalStore(subscribe, () =>
    listeners.size > 0 ? second : Math.floor(serverNow() / 1000),
  )
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  if (listeners.size === 1) tick()
  return () => {
    listeners.delete(listener)
    if (listeners.size === 0) clearTimeout(timer)
  }
}

/** Notifies the listeners just after each full second of the server's clock. */
function tick(): void {
  const now = serverNow()
  const seconds = Math.floor(now / 1000)
  if (seconds !== second) {
    second = seconds
    for (const listener of listeners) listener()
  }
  timer = setTimeout(tick, 1005 - (now % 1000))
}

offset.subscribe(() => {
  clearTimeout(timer)
  if (listeners.size > 0) tick()
})
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState !== 'visible' || listeners.size === 0) return
  clearTimeout(timer) // background tabs throttle timers
  tick()
})
