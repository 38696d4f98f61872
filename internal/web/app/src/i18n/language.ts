import { useSyncExternalStore } from 'react'

import { lasting } from '@/app/shelf'
import { createStore } from '@/app/store'

export type Language = 'en' | 'zh'

const key = 'tandian.language'

const store = createStore<Language>(initial())
tell()
store.subscribe(tell)

export function useLanguage(): Language {
  return useSyncExternalStore(store.subscribe, store.get)
}

/** Switches the language, from now on and for the next visits. */
export function setLanguage(language: Language): void {
  lasting.setItem(key, language)
  store.set(language)
}

/** As chosen here before, else as the browser wants it. */
function initial(): Language {
  const chosen = lasting.getItem(key)
  if (chosen === 'en' || chosen === 'zh') return chosen
  for (const wanted of navigator.languages) {
    if (wanted.startsWith('zh')) return 'zh'
    if (wanted.startsWith('en')) return 'en'
  }
  return 'en'
}

/** The page says its language: browsers choose the shapes of Han characters by it. */
function tell(): void {
  document.documentElement.lang = store.get() === 'zh' ? 'zh-CN' : 'en'
}
