import { useEffect, useEffectEvent, useSyncExternalStore } from 'react'

import { createStore } from '@/app/store'

/**
 * How the server can be reached: `offline` is what the browser says, `unreachable` what a
 * request or the socket met.
 */
export type Network = 'online' | 'offline' | 'unreachable'

const store = createStore<Network>(navigator.onLine ? 'online' : 'offline')
const returns = new Set<() => void>()

store.subscribe(() => {
  document.documentElement.dataset.network = store.get()
})
document.documentElement.dataset.network = store.get()

window.addEventListener('offline', () => {
  left = performance.now()
  store.set('offline')
})
window.addEventListener('online', () => {
  // Now something may answer. Whether the server does, a probe says.
  store.set('unreachable')
  wait = soonest
  void probe()
})

export function useNetwork(): Network {
  return useSyncExternalStore(store.subscribe, store.get)
}

/** Tells that a request was not answered. The server is asked until it answers, and then `onReturn` is told. */
export function lost(): void {
  if (store.get() !== 'online') return
  store.set('unreachable')
  // What fails while the server answers others would be asked for without an end.
  const often = Date.now() - returned < calm
  wait = often ? Math.min(wait * 2, slowest) : soonest
  if (often) later(wait)
  else void probe()
}

/**
 * Tells that a socket ended without a word. That may be the socket alone: only if the server does
 * not answer either is it lost.
 */
export async function doubt(): Promise<void> {
  if (doubted || store.get() !== 'online') return
  doubted = true
  const there = await answers()
  doubted = false
  if (!there) lost()
}

/**
 * Tells that the server answered what it was asked at `asked`, in ms of `performance.now()`. An
 * answer that was on its way when the network went does not mean that there is one; a later one
 * does, whatever the browser says.
 */
export function reached(asked: number): void {
  if (store.get() === 'online' || asked < left) return
  clearTimeout(timer)
  returned = Date.now()
  store.set('online')
  for (const tell of returns) tell()
}

/** Calls `tell` each time that the server can be reached again: what was missed is asked for then. */
export function onReturn(tell: () => void): () => void {
  returns.add(tell)
  return () => returns.delete(tell)
}

/**
 * Calls `ask` whenever what is shown may have been missed: after each time without a network, and
 * when the page comes back from the background.
 */
export function useCatchUp(ask: () => void): void {
  const latest = useEffectEvent(ask)
  useEffect(() => {
    const seen = () => {
      if (document.visibilityState === 'visible') latest()
    }
    const forget = onReturn(() => latest())
    document.addEventListener('visibilitychange', seen)
    return () => {
      forget()
      document.removeEventListener('visibilitychange', seen)
    }
  }, [])
}

const soonest = 500 // ms before the second probe
const slowest = 8000 // ms between probes
const calm = 30_000 // ms without a loss, after which the next is a new one
let wait = soonest
let returned = -Infinity // when the server was back last
let left = -Infinity // when the browser last said that it has no network
let doubted = false
let timer: ReturnType<typeof setTimeout> | undefined

/** Asks the server until it answers, less often each time. */
async function probe(): Promise<void> {
  clearTimeout(timer)
  const asked = performance.now()
  const there = await answers()
  if (store.get() !== 'unreachable') return
  if (there) reached(asked)
  else {
    later(wait)
    wait = Math.min(wait * 2, slowest)
  }
}

/** At random around so many ms, so that not all clients ask at once. */
function later(ms: number): void {
  clearTimeout(timer)
  timer = setTimeout(() => void probe(), ms * (0.75 + Math.random() / 2))
}

/** Whether the server answers now. */
export async function answers(): Promise<boolean> {
  // Not AbortSignal.timeout: Chrome has it since 103, Safari since 16.
  const leave = new AbortController()
  const end = setTimeout(() => leave.abort(), 5000)
  try {
    const response = await fetch('/readyz', { cache: 'no-store', signal: leave.signal })
    return response.ok
  } catch {
    return false
  } finally {
    clearTimeout(end)
  }
}
