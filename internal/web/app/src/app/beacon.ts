import { useEffect } from 'react'
import { useLocation } from 'wouter'

import { headers } from '@/api/client'
import { currentSession } from '@/session/session'

const shopPath = /^\/shops\/([^/]+)$/

/** Tells the server of each page that is shown: that is how visits are counted. */
export function useBeacon(): void {
  const [path] = useLocation()
  useEffect(() => {
    const shop = shopPath.exec(path)?.[1] ?? null
    const told = fetch('/visit', {
      method: 'POST',
      headers: headers(currentSession()),
      body: JSON.stringify({ path, shop }),
      keepalive: true,
    })
    told.catch(() => undefined) // nobody misses one view
  }, [path])
}
