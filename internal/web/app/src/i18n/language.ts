import { useSyncExternalStore } from 'react'

import { safeLocalStorage } from '@/app/safeStorage'
import { createStore } from '@/app/store'

export type Language = 'en' | 'zh'

const key = 'tandian.language'

const store = createStore<Language>(initial())
applyLanguage()
store.subscribe(applyLanguage)

export function useLanguage(): Language {
  return useSyncExternalStore(store.subscribe, store.get)
}

/** Switches the language and remembers it for later visits. */
export function setLanguage(language: Language): void {
  safeLocalStorage.setItem(key, language)
  store.set(language)
}

/** Returns the stored language, else the browser's. */
function initial(): Language {
  const chosen = safeLocalStorage.getItem(key)
  if (chosen === 'en' || chosen === 'zh') return chosen
  for (const wanted of navigator.languages) {
    if (wanted.startsWith('zh')) return 'zh'
    if (wanted.startsWith('en')) return 'en'
  }
  return 'en'
}

/** Sets the page's language. Browsers choose the shapes of Han characters by it. */
function applyLanguage(): void {
  document.documentElement.lang = store.get() === 'zh' ? 'zh-CN' : 'en'
}
