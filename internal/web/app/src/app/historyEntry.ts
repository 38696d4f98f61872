import { useCallback, useLayoutEffect, useState } from 'react'
import { useLocation, type BaseLocationHook } from 'wouter'
import { useBrowserLocation } from 'wouter/use-browser-location'

import { safeSessionStorage } from './safeStorage'

// Each history entry has a key. Scroll position and screen state are stored under it and restored
// on back or reload.

const storageKey = 'tandian.entries'
const maxEntries = 50 // stored entries

type EntryState = Record<string, unknown>
const entries = new Map<string, EntryState>(restoreEntries())

/** State that the browser stores with an entry. */
interface State {
  readonly key: string
  /** The app was opened at this entry: no screen precedes it. */
  readonly opened?: boolean
}

// An entry opened by its URL has no key yet.
if (readState() === null) history.replaceState({ key: randomKey(), opened: true }, '')

let current = currentEntry()
let arrival: 'pushed' | 'back' | 'reloaded' = entries.has(current) ? 'reloaded' : 'pushed'
let focusPending = false
let restoring = false

history.scrollRestoration = 'manual'
window.addEventListener('popstate', () => {
  arrival = 'back'
  current = currentEntry()
})
window.addEventListener(
  'scroll',
  () => {
    if (!restoring) save('scroll', window.scrollY)
  },
  { passive: true },
)
window.addEventListener('pagehide', () => {
  safeSessionStorage.setItem(storageKey, JSON.stringify([...entries].slice(-maxEntries)))
})

/** Returns the key of the current entry. */
export function currentEntry(): string {
  return readState()?.key ?? ''
}

/** Reports whether an app screen precedes this one in the history. */
export function hasPreviousScreen(): boolean {
  return readState()?.opened !== true
}

function readState(): State | null {
  const state: unknown = history.state
  return state !== null && typeof state === 'object' && 'key' in state ? (state as State) : null
}

/** The router's location hook. It assigns a key to each new entry. */
export const useEntryLocation: BaseLocationHook = (options) => {
  const [path, navigate] = useBrowserLocation(options as Parameters<typeof useBrowserLocation>[0])
  const go = useCallback(
    (to: string | URL, { state, ...rest }: { state?: object; replace?: boolean } = {}) => {
      const replace = rest.replace === true
      const saved = replace ? readState() : { key: randomKey() }
      arrival = 'pushed'
      // Also for redirects, such as the sign-in screen.
      const next = new URL(to, window.location.href)
      focusPending = next.pathname !== window.location.pathname
      if (!replace) save('left', next.pathname + next.search)
      navigate(to, { ...rest, state: { ...state, ...saved } })
      current = currentEntry()
    },
    [navigate],
  )
  return [path, go]
}

/** State that is restored when the user returns to the entry by Back or reload. */
export function useEntryState<T>(name: string, initial: T): [T, (value: T) => void] {
  const [entry] = useState(currentEntry)
  const [value, setValue] = useState<T>(() => {
    const saved = entries.get(entry)
    return saved !== undefined && name in saved ? (saved[name] as T) : initial
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

/** Reports whether the user returned to an existing entry. */
export function isReturning(): boolean {
  return arrival !== 'pushed'
}

/**
 * Restores the scroll position on return and scrolls to the top on navigation. Call it once, in the
 * component that observes the path.
 */
export function useScrollRestoration(): void {
  const [path] = useLocation()

  useLayoutEffect(() => {
    if (arrival === 'pushed') {
      window.scrollTo(0, 0)
      return undefined
    }
    const { scroll = 0, left } = entries.get(currentEntry()) ?? {}
    const stop = restoreScroll(Number(scroll))
    const leave = arrival === 'back' && typeof left === 'string' ? restoreFocus(left) : undefined
    return () => {
      stop()
      leave?.()
    }
    // Runs for each path.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [path])
}

/**
 * Reports whether a new screen must take the focus so that screen readers announce it. True once
 * per navigation.
 */
export function consumePendingFocus(): boolean {
  const pending = focusPending
  focusPending = false
  return pending
}

/**
 * Scrolls to a position. It retries while the page grows, until it succeeds or the user scrolls.
 */
function restoreScroll(to: number): () => void {
  const observer = new ResizeObserver(apply)
  const userEvents = ['wheel', 'touchmove', 'keydown'] as const
  restoring = true
  function apply() {
    window.scrollTo(0, to)
    if (Math.abs(window.scrollY - to) < 2) stop()
  }
  function stop() {
    restoring = false
    observer.disconnect()
    for (const name of userEvents) window.removeEventListener(name, stop)
  }
  for (const name of userEvents) window.addEventListener(name, stop, { passive: true })
  observer.observe(document.body)
  apply()
  return stop
}

/**
 * Focuses the link that the user followed, once it is rendered, so that Tab continues there. It
 * stops if another element has the focus.
 */
function restoreFocus(to: string): () => void {
  const observer = new MutationObserver(find)
  const userEvents = ['keydown', 'pointerdown'] as const
  function find() {
    const free = document.activeElement === document.body
    const link = document.querySelector<HTMLElement>(`main a[href="${CSS.escape(to)}"]`)
    if (free && link === null) return
    if (free) link?.focus({ preventScroll: true })
    stop()
  }
  function stop() {
    observer.disconnect()
    for (const name of userEvents) window.removeEventListener(name, stop)
  }
  for (const name of userEvents) window.addEventListener(name, stop, { passive: true })
  observer.observe(document.body, { childList: true, subtree: true })
  find()
  return stop
}

function save(name: string, value: unknown): void {
  entries.set(current, { ...entries.get(current), [name]: value })
}

function randomKey(): string {
  return crypto.getRandomValues(new Uint32Array(2)).join('-')
}

function restoreEntries(): [string, EntryState][] {
  try {
    const value: unknown = JSON.parse(safeSessionStorage.getItem(storageKey) ?? '[]')
    return Array.isArray(value) ? (value as [string, EntryState][]) : []
  } catch {
    return []
  }
}
