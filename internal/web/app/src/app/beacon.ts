import { useEffect } from 'react'
import { useLocation } from 'wouter'

import { headers } from '@/api/client'
import { currentSession } from '@/session/session'

import { currentEntry } from './entries'

let told = '' // the last one; signing in shows the same page anew

const shopPath = /^\/shops\/([^/]+)$/

/** Tells the server of each page that is shown: that is how visits are counted. */
export function useBeacon(): void {
  const [path] = useLocation()
  useEffect(() => {
    const view = `${currentEntry()} ${path}`
    if (view === told) return
    told = view
    const shop = shopPath.exec(path)?.[1] ?? null
    const answer = fetch('/visit', {
      method: 'POST',
      headers: headers(currentSession()),
      body: JSON.stringify({ path, shop }),
      keepalive: true,
    })
    answer.catch(() => undefined) // nobody misses one view
  }, [path])
}
