import { useCallback, useLayoutEffect, useState } from 'react'
import { useLocation, type BaseLocationHook } from 'wouter'
import { useBrowserLocation } from 'wouter/use-browser-location'

import { ofTheTab } from './shelf'

// Each entry of the browser's history has a key, under which it is kept how far down the page was
// and what else the screen wants to find again when somebody comes back to it.

const memory = 'tandian.entries'
const most = 50 // entries that are remembered

type Kept = Record<string, unknown>
const entries = new Map<string, Kept>(restored())

/** What the browser keeps with an entry. */
interface State {
  readonly key: string
  /** Somebody came to this one from elsewhere: nothing of ours stands before it. */
  readonly opened?: boolean
}

// An entry that was opened by its address has no key yet.
if (stateOf() === null) history.replaceState({ key: randomKey(), opened: true }, '')

let shown = currentEntry()
let came: 'pushed' | 'back' = entries.has(shown) ? 'back' : 'pushed'
let moved = false
let restoring = false

history.scrollRestoration = 'manual'
window.addEventListener('popstate', () => {
  came = 'back'
  shown = currentEntry()
})
window.addEventListener(
  'scroll',
  () => {
    if (!restoring) keep('scroll', window.scrollY)
  },
  { passive: true },
)
window.addEventListener('pagehide', () => {
  ofTheTab.setItem(memory, JSON.stringify([...entries].slice(-most)))
})

/** The key of the entry that is shown. */
export function currentEntry(): string {
  return stateOf()?.key ?? ''
}

/** Whether another screen of the app stands before this one in the browser's history. */
export function cameFromHere(): boolean {
  return stateOf()?.opened !== true
}

function stateOf(): State | null {
  const state: unknown = history.state
  return state !== null && typeof state === 'object' && 'key' in state ? (state as State) : null
}

/** How the router finds and changes the location: with a key for each new entry. */
export const useEntryLocation: BaseLocationHook = (options) => {
  const [path, navigate] = useBrowserLocation(options as Parameters<typeof useBrowserLocation>[0])
  const go = useCallback(
    (to: string | URL, { state, ...rest }: { state?: object; replace?: boolean } = {}) => {
      const replace = rest.replace === true
      const kept = replace ? stateOf() : { key: randomKey() }
      came = 'pushed'
      moved = !replace || new URL(to, window.location.href).pathname !== window.location.pathname
      navigate(to, { ...rest, state: { ...state, ...kept } })
      shown = currentEntry()
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
    const { scroll = 0 } = entries.get(currentEntry()) ?? {}
    return scrollBack(Number(scroll))
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
  restoring = true
  function apply() {
    window.scrollTo(0, to)
    if (Math.abs(window.scrollY - to) < 2) stop()
  }
  function stop() {
    restoring = false
    observer.disconnect()
    for (const name of given) window.removeEventListener(name, stop)
  }
  for (const name of given) window.addEventListener(name, stop, { passive: true })
  observer.observe(document.body)
  apply()
  return stop
}

function keep(name: string, value: unknown): void {
  entries.set(shown, { ...entries.get(shown), [name]: value })
}

function randomKey(): string {
  return crypto.getRandomValues(new Uint32Array(2)).join('-')
}

function restored(): [string, Kept][] {
  try {
    const value: unknown = JSON.parse(ofTheTab.getItem(memory) ?? '[]')
    return Array.isArray(value) ? (value as [string, Kept][]) : []
  } catch {
    return []
  }
}
