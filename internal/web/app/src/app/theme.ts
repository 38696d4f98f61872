import { useSyncExternalStore } from 'react'

import { safeLocalStorage } from './safeStorage'
import { createStore } from './store'

/** `system` follows the browser's preference. */
export type Theme = 'system' | 'light' | 'dark'

const key = 'tandian.theme'

const store = createStore<Theme>(initial())
export function useTheme(): Theme {
  return useSyncExternalStore(store.subscribe, store.get)
}

export function setTheme(theme: Theme): void {
  safeLocalStorage.setItem(key, theme)
  store.set(theme)
}

function initial(): Theme {
  const chosen = safeLocalStorage.getItem(key)
  return chosen === 'light' || chosen === 'dark' ? chosen : 'system'
}

/** Applies the theme now and on every change. */
export function initTheme(): void {
  applyTheme()
  store.subscribe(applyTheme)
}

function applyTheme(): void {
  document.documentElement.dataset.theme = store.get()
}
