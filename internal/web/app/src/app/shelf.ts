// What a browser keeps for us. Where it refuses to, as with site data blocked, everything is kept for
// as long as the page lives.

/** What is used of a browser's storage. */
export type Shelf = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>

/** Kept over visits. */
export const lasting = guarded(() => window.localStorage)

/** Kept for the tab. */
export const ofTheTab = guarded(() => window.sessionStorage)

function guarded(storage: () => Storage): Shelf {
  const refused = new Map<string, string>()
  return {
    getItem: (key) => refused.get(key) ?? attempt(() => storage().getItem(key)),
    setItem: (key, value) => {
      const kept = attempt(() => {
        storage().setItem(key, value)
        return true
      })
      if (kept) refused.delete(key)
      else refused.set(key, value)
    },
    removeItem: (key) => {
      refused.delete(key)
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
