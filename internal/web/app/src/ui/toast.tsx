import { useId, useLayoutEffect, useSyncExternalStore } from 'react'

import { createStore } from '@/app/store'

import css from './toast.module.css'

interface Toast {
  readonly id: number
  readonly text: string
}

const shownFor = 5000 // ms

const store = createStore<readonly Toast[]>([])
let last = 0

/** Shows a message briefly and announces it to screen readers. */
export function toast(text: string): void {
  const id = ++last
  store.set([...store.get().filter((other) => other.text !== text), { id, text }])
  setTimeout(() => store.set(store.get().filter((other) => other.id !== id)), shownFor)
}

const outlets = createStore<readonly string[]>([])

/**
 * Renders the toasts: in the shell, or in the open dialog, because nothing outside a modal dialog
 * is visible or announced.
 */
export function Toasts() {
  const outletId = useId()
  useLayoutEffect(() => {
    outlets.set([...outlets.get(), outletId])
    return () => outlets.set(outlets.get().filter((other) => other !== outletId))
  }, [outletId])
  const shown = useSyncExternalStore(outlets.subscribe, outlets.get).at(-1) === outletId
  const list = useSyncExternalStore(store.subscribe, store.get)
  return (
    <div className={css.toasts} role="status">
      {shown && list.map(({ id, text }) => <p key={id}>{text}</p>)}
    </div>
  )
}
