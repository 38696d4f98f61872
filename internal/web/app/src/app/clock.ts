import { useCallback, useEffect, useSyncExternalStore } from 'react'
import { useClient } from 'urql'

import { ServerTimeDocument } from './clock.gql'
import { createStore } from './store'

// The clocks of phones are minutes off, and a sale opens by the server's.

const difference = createStore(0) // ms, the server's clock less ours
let asked = -Infinity // when, by performance.now()
const goodFor = 5 * 60_000 // ms

/** The time by the server's clock, in ms since 1970, as far as useServerTime has learned it. */
export function serverNow(): number {
  return Date.now() + difference.get()
}

/**
 * Learns the server's time for those who count down: now, and when the page comes back from the
 * background. The way there and back is taken to be equally long.
 */
export function useServerTime(): void {
  const client = useClient()
  const learn = useCallback(async () => {
    if (document.visibilityState !== 'visible' || performance.now() - asked < goodFor) return
    asked = performance.now()
    const sent = Date.now()
    const { data } = await client
      .query(ServerTimeDocument, {}, { requestPolicy: 'network-only' })
      .toPromise()
    const received = Date.now()
    if (data) difference.set(new Date(data.serverTime).getTime() - (sent + received) / 2)
    else asked = -Infinity
  }, [client])

  useEffect(() => {
    void learn()
    document.addEventListener('visibilitychange', learn)
    return () => document.removeEventListener('visibilitychange', learn)
  }, [learn])
}

const beats = new Set<() => void>()
let timer: ReturnType<typeof setTimeout> | undefined
let beat = Math.floor(serverNow() / 1000)

/** The time by the server's clock in whole seconds. All who count share one timer. */
export function useSeconds(): number {
  useServerTime()
  return useSyncExternalStore(follow, () =>
    beats.size > 0 ? beat : Math.floor(serverNow() / 1000),
  )
}

function follow(tell: () => void): () => void {
  beats.add(tell)
  if (beats.size === 1) tick()
  return () => {
    beats.delete(tell)
    if (beats.size === 0) clearTimeout(timer)
  }
}

/** Beats just behind each full second of the server's clock. */
function tick(): void {
  const now = serverNow()
  const seconds = Math.floor(now / 1000)
  if (seconds !== beat) {
    beat = seconds
    for (const tell of beats) tell()
  }
  timer = setTimeout(tick, 1005 - (now % 1000))
}

difference.subscribe(() => {
  clearTimeout(timer)
  if (beats.size > 0) tick()
})
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState !== 'visible' || beats.size === 0) return
  clearTimeout(timer) // those of pages in the background are late
  tick()
})
