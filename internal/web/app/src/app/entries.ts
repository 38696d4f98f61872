import { useCallback, useLayoutEffect, useState } from 'react'
import { useLocation, type BaseLocationHook } from 'wouter'
import { useBrowserLocation } from 'wouter/use-browser-location'

// Each entry of the browser's history has a key, under which it is kept how far down the page was
// and what else the screen wants to find again when somebody comes back to it.

const memory = 'tandian.entries'
const most = 50 // entries that are remembered

type Kept = Record<string, unknown>
const entries = new Map<string, Kept>(restored())
let came: 'pushed' | 'back' = entries.has(currentEntry()) ? 'back' : 'pushed'

let moved = false

history.scrollRestoration = 'manual'
window.addEventListener('popstate', () => {
  came = 'back'
})
window.addEventListener('pagehide', () => {
  keep('scroll', window.scrollY)
  sessionStorage.setItem(memory, JSON.stringify([...entries].slice(-most)))
})

/** The key of the entry that is shown. */
export function currentEntry(): string {
  const state: unknown = history.state
  const { key } = (state ?? {}) as { key?: unknown }
  return typeof key === 'string' ? key : 'first'
}

/** Whether another screen of the app stands before this one in the browser's history. */
export function cameFromHere(): boolean {
  return currentEntry() !== 'first'
}

/** How the router finds and changes the location: with a key for each new entry. */
export const useEntryLocation: BaseLocationHook = (options) => {
  const [path, navigate] = useBrowserLocation(options as Parameters<typeof useBrowserLocation>[0])
  const go = useCallback(
    (to: string | URL, { state, ...rest }: { state?: object; replace?: boolean } = {}) => {
      keep('scroll', window.scrollY)
      const key = rest.replace === true ? currentEntry() : randomKey()
      came = 'pushed'
      moved = rest.replace !== true
      navigate(to, { ...rest, state: { ...state, key } })
    },
    [navigate],
  )
  return [path, go]
}

/** State that is there again when somebody comes back to the entry, by the back button or a reload. */
export function useEntryState<T>(name: string, initial: T): [T, (value: T) => void] {
  const [entry] = useState(currentEntry)
  const [value, setValue] = useState<T>(() => {
    const kept = entries.get(entry)
    return kept !== undefined && name in kept ? (kept[name] as T) : initial
  })
  const set = useCallback(
    (next: T) => {
      entries.set(entry, { ...entries.get(entry), [name]: next })
      setValue(next)
    },
    [entry, name],
  )
  return [value, set]
}

/** Whether the entry was there before: then its screen shows what it showed. */
export function cameBack(): boolean {
  return came === 'back'
}

/**
 * Puts the page where it was when somebody comes back, and to the top when somebody goes on. For the
 * one component that knows when the path changes.
 */
export function useScrollRestoration(): void {
  const [path] = useLocation()

  useLayoutEffect(() => {
    if (came === 'pushed') {
      window.scrollTo(0, 0)
      return undefined
    }
    const scroll = entries.get(currentEntry())?.scroll
    return typeof scroll === 'number' ? scrollBack(scroll) : undefined
    // Each path anew.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [path])
}

/**
 * Whether a screen that appears now is to take the focus: somebody has gone on to it, and hears
 * instead of sees that the page is another one. True once.
 */
export function takeFocus(): boolean {
  const wanted = moved
  moved = false
  return wanted
}

/** Scrolls to where the page was, again while it grows, until it is there or the reader scrolls. */
function scrollBack(to: number): () => void {
  const observer = new ResizeObserver(apply)
  const given = ['wheel', 'touchmove', 'keydown'] as const
  function apply() {
    window.scrollTo(0, to)
    if (Math.abs(window.scrollY - to) < 2) stop()
  }
  function stop() {
    observer.disconnect()
    for (const name of given) window.removeEventListener(name, stop)
  }
  for (const name of given) window.addEventListener(name, stop, { passive: true })
  observer.observe(document.body)
  apply()
  return stop
}

function keep(name: string, value: unknown): void {
  const entry = currentEntry()
  entries.set(entry, { ...entries.get(entry), [name]: value })
}

function randomKey(): string {
  return crypto.getRandomValues(new Uint32Array(2)).join('-')
}

function restored(): [string, Kept][] {
  try {
    const value: unknown = JSON.parse(sessionStorage.getItem(memory) ?? '[]')
    return Array.isArray(value) ? (value as [string, Kept][]) : []
  } catch {
    return []
  }
}
