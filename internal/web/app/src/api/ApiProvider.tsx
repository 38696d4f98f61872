import { useEffect, useState, type ReactNode } from 'react'
import { Provider } from 'urql'

import { useSession } from '@/session/session'

import { openApi, type Api } from './client'

/** Provides an API client for the current session. */
export function ApiProvider({ children }: { children: ReactNode }) {
  const session = useSession()
  const [api, setApi] = useState<Api & { of: string | null }>()
  const token = session?.token ?? null

  useEffect(() => {
    const opened = openApi(session)
    setApi({ ...opened, of: token })
    return opened.close
    // The token identifies the session.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [token])

  if (api === undefined || api.of !== token) return null
  return (
    <Provider key={token} value={api.client}>
      {children}
    </Provider>
  )
}
