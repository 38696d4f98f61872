import { useSyncExternalStore } from 'react'

import { lasting } from '@/app/shelf'
import { createStore } from '@/app/store'

/** Where somebody looks for shops. */
export interface Place {
  readonly lat: number
  readonly lng: number
  /** What people call it; null is the position that the browser gave. */
  readonly name: string | null
}

const key = 'tandian.place'

const store = createStore<Place | null>(read())

export function usePlace(): Place | null {
  return useSyncExternalStore(store.subscribe, store.get)
}

/** Chooses a place, also for the next visits. */
export function setPlace(place: Place): void {
  const rounded = { ...place, lat: round(place.lat), lng: round(place.lng) }
  lasting.setItem(key, JSON.stringify(rounded))
  store.set(rounded)
}

/** Whether the browser can be asked where it is: not on plain http, but for this machine. */
export const canLocate = window.isSecureContext && 'geolocation' in navigator

/** Asks the browser where it is. False if it does not say. */
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

let asked = false

/**
 * Asks for the position of who has allowed it before: nobody is asked anything by this. Once in a
 * visit, so that "around me" is not where somebody was at the last one; a place that was picked stays.
 */
export async function locateIfAllowed(): Promise<void> {
  const before = store.get()
  if (!canLocate || asked || typeof before?.name === 'string') return
  asked = true
  try {
    const { state } = await navigator.permissions.query({ name: 'geolocation' })
    const found = state === 'granted' ? await position() : null
    if (found && store.get() === before) setPlace(found) // unless one was picked meanwhile
  } catch {
    // Some browsers do not tell. Then somebody has to press the button.
  }
}

/** Four decimals are 11 m: near enough to find shops, and equal for a phone that lies still. */
function round(degrees: number): number {
  return Math.round(degrees * 10_000) / 10_000
}

function read(): Place | null {
  try {
    const value = JSON.parse(lasting.getItem(key) ?? 'null') as Partial<Place> | null
    if (typeof value?.lat !== 'number' || typeof value.lng !== 'number') return null
    return { lat: value.lat, lng: value.lng, name: value.name ?? null }
  } catch {
    return null
  }
}
