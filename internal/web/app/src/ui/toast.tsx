import { useSyncExternalStore } from 'react'

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

/** Where toasts appear. There is one, in the shell. */
export function Toasts() {
  const list = useSyncExternalStore(store.subscribe, store.get)
  return (
    <div className={css.toasts} role="status">
      {list.map(({ id, text }) => (
        <p key={id}>{text}</p>
      ))}
    </div>
  )
}
