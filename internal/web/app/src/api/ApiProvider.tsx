import { useEffect, useState, type ReactNode } from 'react'
import { Provider } from 'urql'

import { useSession } from '@/session/session'

import { openApi, type Api } from './client'

/** Gives those below a client of the session that there is. */
export function ApiProvider({ children }: { children: ReactNode }) {
  const session = useSession()
  const [api, setApi] = useState<Api & { of: string | null }>()
  const token = session?.token ?? null

  useEffect(() => {
    const opened = openApi(session)
    setApi({ ...opened, of: token })
    return opened.close
    // A session is its token.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [token])

  if (api === undefined || api.of !== token) return null
  return (
    <Provider key={token} value={api.client}>
      {children}
    </Provider>
  )
}
