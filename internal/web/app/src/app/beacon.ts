import { useEffect } from 'react'
import { useLocation } from 'wouter'

import { headers } from '@/api/client'
import { currentSession } from '@/session/session'

import { currentEntry } from './historyEntry'

let lastSent = '' // last reported view; signing in renders the same page again

const shopPath = /^\/shops\/([^/]+)$/

/** Reports each page view to the server, which counts visits. */
export function useBeacon(): void {
  const [path] = useLocation()
  useEffect(() => {
    const view = `${currentEntry()} ${path}`
    if (view === lastSent) return
    lastSent = view
    const shop = shopPath.exec(path)?.[1] ?? null
    const answer = fetch('/visit', {
      method: 'POST',
      headers: headers(currentSession()),
      body: JSON.stringify({ path, shop }),
      keepalive: true,
    })
    answer.catch(() => undefined) // losing one view is acceptable
  }, [path])
}
