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
export function locate(): Promise<boolean> {
  if (!canLocate) return Promise.resolve(false)
  return new Promise((resolve) => {
    navigator.geolocation.getCurrentPosition(
      ({ coords }) => {
        setPlace({ lat: coords.latitude, lng: coords.longitude, name: null })
        resolve(true)
      },
      () => resolve(false),
      { maximumAge: 60_000, timeout: 10_000 },
    )
  })
}

/** Asks for the position of who has allowed it before: nobody is asked anything by this. */
export async function locateIfAllowed(): Promise<void> {
  if (!canLocate || store.get() !== null) return
  try {
    const { state } = await navigator.permissions.query({ name: 'geolocation' })
    if (state === 'granted') await locate()
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
