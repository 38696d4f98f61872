import { lazy, type ComponentType, type LazyExoticComponent } from 'react'

import { isServerReady, reportUnreachable, onReconnect } from '@/live/network'

import { safeSessionStorage } from './safeStorage'

const key = 'tandian.reloaded'
let reloading = false // so that parallel failures wait for the same reload
const reloadPause = 60_000 // ms between two reloads

/**
 * Loads a screen on first use. Without a network it waits for one. If the server no longer has the
 * file, the server is newer than this tab: the page reloads once.
 */
export function lazyScreen<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): LazyExoticComponent<ComponentType<Props>> {
  return lazy(async () => ({ default: await loadScreen(load) }))
}

async function loadScreen<Screen>(load: () => Promise<Screen>): Promise<Screen> {
  try {
    return await load()
  } catch (error) {
    if (await isServerReady()) return reloadPage(error)
  }
  const back = new Promise<void>((resolve) => {
    const forget = onReconnect(() => {
      forget()
      resolve()
    })
  })
  reportUnreachable()
  await back
  try {
    return await load()
  } catch (error) {
    return reloadPage(error) // some browsers cache the failure
  }
}

/** Reloads the page. It throws the error if the page has just reloaded. */
function reloadPage(error: unknown): Promise<never> {
  const last = Number(safeSessionStorage.getItem(key) ?? 0)
  if (!reloading && Date.now() - last < reloadPause) throw error
  reloading = true
  safeSessionStorage.setItem(key, String(Date.now()))
  window.location.reload()
  return new Promise(() => undefined) // never resolves: the page is unloading
}
