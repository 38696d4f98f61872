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

/** Says something for a moment, to those who see and to those who hear. */
export function toast(text: string): void {
  const id = ++last
  store.set([...store.get().filter((other) => other.text !== text), { id, text }])
  setTimeout(() => store.set(store.get().filter((other) => other.id !== id)), shownFor)
}

const places = createStore<readonly string[]>([])

/**
 * Where toasts appear: in the shell, and in a dialog while one is open, as nothing outside of it is
 * seen or heard then.
 */
export function Toasts() {
  const here = useId()
  useLayoutEffect(() => {
    places.set([...places.get(), here])
    return () => places.set(places.get().filter((other) => other !== here))
  }, [here])
  const shown = useSyncExternalStore(places.subscribe, places.get).at(-1) === here
  const list = useSyncExternalStore(store.subscribe, store.get)
  return (
    <div className={css.toasts} role="status">
      {shown && list.map(({ id, text }) => <p key={id}>{text}</p>)}
    </div>
  )
}
