// Browser storage with a fallback: if access is denied, values live in memory until the page
// closes.

/** The subset of Storage that the app uses. */
export type SafeStorage = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>

/** Persists across visits. */
export const safeLocalStorage = wrap(() => window.localStorage)

/** Persists for the tab. */
export const safeSessionStorage = wrap(() => window.sessionStorage)

function wrap(storage: () => Storage): SafeStorage {
  const fallback = new Map<string, string>()
  return {
    getItem: (key) => fallback.get(key) ?? attempt(() => storage().getItem(key)),
    setItem: (key, value) => {
      const stored = attempt(() => {
        storage().setItem(key, value)
        return true
      })
      if (stored) fallback.delete(key)
      else fallback.set(key, value)
    },
    removeItem: (key) => {
      fallback.delete(key)
      attempt(() => storage().removeItem(key))
    },
  }
}

function attempt<T>(what: () => T): T | null {
  try {
    return what()
  } catch {
    return null
  }
}
