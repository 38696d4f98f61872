import { useSyncExternalStore } from 'react'

import { lasting } from './shelf'
import { createStore } from './store'

/** `system` is what the browser prefers. */
export type Theme = 'system' | 'light' | 'dark'

const key = 'tandian.theme'

const store = createStore<Theme>(initial())
export function useTheme(): Theme {
  return useSyncExternalStore(store.subscribe, store.get)
}

export function setTheme(theme: Theme): void {
  lasting.setItem(key, theme)
  store.set(theme)
}

function initial(): Theme {
  const chosen = lasting.getItem(key)
  return chosen === 'light' || chosen === 'dark' ? chosen : 'system'
}

/** Shows the page in the chosen theme, from now on. */
export function showTheme(): void {
  tell()
  store.subscribe(tell)
}

function tell(): void {
  document.documentElement.dataset.theme = store.get()
}
