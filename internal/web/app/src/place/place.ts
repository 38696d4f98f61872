import { useSyncExternalStore } from 'react'

import { safeLocalStorage } from '@/app/safeStorage'
import { createStore } from '@/app/store'

/** The place for nearby shops. */
export interface Place {
  readonly lat: number
  readonly lng: number
  /** Display name; null for the browser's position. */
  readonly name: string | null
}

const key = 'tandian.place'

const store = createStore<Place | null>(read())

export function usePlace(): Place | null {
  return useSyncExternalStore(store.subscribe, store.get)
}

/** Sets the place and remembers it for later visits. */
export function setPlace(place: Place): void {
  const rounded = { ...place, lat: round(place.lat), lng: round(place.lng) }
  safeLocalStorage.setItem(key, JSON.stringify(rounded))
  store.set(rounded)
}

/** Whether the browser can share its position. It needs HTTPS or localhost. */
export const canLocate = window.isSecureContext && 'geolocation' in navigator

/** Sets the place to the browser's position. It returns false if that is unavailable. */
export async function locate(): Promise<boolean> {
  const found = await position()
  if (found) setPlace(found)
  return found !== null
}

function position(): Promise<Place | null> {
  if (!canLocate) return Promise.resolve(null)
  return new Promise((resolve) => {
    navigator.geolocation.getCurrentPosition(
      ({ coords }) => resolve({ lat: coords.latitude, lng: coords.longitude, name: null }),
      () => resolve(null),
      { maximumAge: 60_000, timeout: 10_000 },
    )
  })
}

let located = false

/**
 * Updates the position without a prompt, if the user has granted permission. It runs once per visit
 * and does not replace a picked place.
 */
export async function locateIfAllowed(): Promise<void> {
  const before = store.get()
  if (!canLocate || located || typeof before?.name === 'string') return
  located = true
  try {
    const { state } = await navigator.permissions.query({ name: 'geolocation' })
    const found = state === 'granted' ? await position() : null
    if (found && store.get() === before) setPlace(found) // unless the user picked one meanwhile
  } catch {
    // Some browsers cannot query permissions. The user must press the button.
  }
}

/** Four decimals are 11 m. Rounding keeps the cache key stable for a phone at rest. */
function round(degrees: number): number {
  return Math.round(degrees * 10_000) / 10_000
}

function read(): Place | null {
  try {
    const value = JSON.parse(safeLocalStorage.getItem(key) ?? 'null') as Partial<Place> | null
    if (typeof value?.lat !== 'number' || typeof value.lng !== 'number') return null
    return { lat: value.lat, lng: value.lng, name: value.name ?? null }
  } catch {
    return null
  }
}
