import { useEffect, useEffectEvent, useSyncExternalStore } from 'react'

import { createStore } from '@/app/store'

/**
 * Connection state: the browser reports `offline`; a failed request or socket sets `unreachable`.
 */
export type Network = 'online' | 'offline' | 'unreachable'

const store = createStore<Network>(navigator.onLine ? 'online' : 'offline')
const listeners = new Set<() => void>()

store.subscribe(() => {
  document.documentElement.dataset.network = store.get()
})
document.documentElement.dataset.network = store.get()

window.addEventListener('offline', () => {
  offlineAt = performance.now()
  store.set('offline')
})
window.addEventListener('online', () => {
  // The network is back. A probe checks the server.
  store.set('unreachable')
  wait = minWait
  void probe()
})

export function useNetwork(): Network {
  return useSyncExternalStore(store.subscribe, store.get)
}

/**
 * Reports a request without response. It probes the server until it responds, then notifies
 * `onReconnect` listeners.
 */
export function reportUnreachable(): void {
  if (store.get() !== 'online') return
  store.set('unreachable')
  // Backs off if requests fail while probes succeed, to avoid an endless loop.
  const recent = Date.now() - reconnectedAt < stableAfter
  wait = recent ? Math.min(wait * 2, maxWait) : minWait
  if (recent) scheduleProbe(wait)
  else void probe()
}

/** Checks the server after a socket closed abnormally. The socket alone may have failed. */
export async function checkReachable(): Promise<void> {
  if (checking || store.get() !== 'online') return
  checking = true
  const ready = await isServerReady()
  checking = false
  if (!ready) reportUnreachable()
}

/**
 * Reports a response to a request sent at `sentAt` (`performance.now()`). Responses to requests
 * sent before the connection was lost are ignored. Later ones prove that it is back, even if the
 * browser says offline.
 */
export function reportReachable(sentAt: number): void {
  if (store.get() === 'online' || sentAt < offlineAt) return
  clearTimeout(timer)
  reconnectedAt = Date.now()
  store.set('online')
  for (const listener of listeners) listener()
}

/**
 * Calls `listener` each time the server becomes reachable again. It returns a function that
 * unsubscribes.
 */
export function onReconnect(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/**
 * Calls `callback` when shown data may be stale: after reconnecting, and when the page becomes
 * visible.
 */
export function useOnResume(callback: () => void): void {
  const latest = useEffectEvent(callback)
  useEffect(() => {
    const onVisible = () => {
      if (document.visibilityState === 'visible') latest()
    }
    const unsubscribe = onReconnect(() => latest())
    document.addEventListener('visibilitychange', onVisible)
    return () => {
      unsubscribe()
      document.removeEventListener('visibilitychange', onVisible)
    }
  }, [])
}

const minWait = 500 // ms before the second probe
const maxWait = 8000 // ms between probes
const stableAfter = 30_000 // ms without a failure until the backoff resets
let wait = minWait
let reconnectedAt = -Infinity // Date.now() of the last reconnect
let offlineAt = -Infinity // performance.now() of the browser's last offline event
let checking = false
let timer: ReturnType<typeof setTimeout> | undefined

/** Probes the server with backoff until it responds. */
async function probe(): Promise<void> {
  clearTimeout(timer)
  const sentAt = performance.now()
  const ready = await isServerReady()
  if (store.get() !== 'unreachable') return
  if (ready) reportReachable(sentAt)
  else {
    scheduleProbe(wait)
    wait = Math.min(wait * 2, maxWait)
  }
}

/** Schedules a probe with jitter, so that clients do not probe at once. */
function scheduleProbe(ms: number): void {
  clearTimeout(timer)
  timer = setTimeout(() => void probe(), ms * (0.75 + Math.random() / 2))
}

/** Reports whether the server is ready. */
export async function isServerReady(): Promise<boolean> {
  // AbortSignal.timeout needs Chrome 103 or Safari 16.
  const controller = new AbortController()
  const end = setTimeout(() => controller.abort(), 5000)
  try {
    const response = await fetch('/readyz', { cache: 'no-store', signal: controller.signal })
    return response.ok
  } catch {
    return false
  } finally {
    clearTimeout(end)
  }
}
