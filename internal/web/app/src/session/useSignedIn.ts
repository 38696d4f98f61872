import { useCallback } from 'react'
import { useLocation } from 'wouter'

import { signInTo } from './returnPath'
import { currentSession } from './session'

/**
 * For what only somebody signed in may do: true if there is a session. Else it leads to the sign-in
 * screen, which comes back here.
 */
export function useSignedIn(): () => boolean {
  const [, navigate] = useLocation()
  return useCallback(() => {
    if (currentSession() !== null) return true
    navigate(signInPath())
    return false
  }, [navigate])
}

/** The sign-in screen, which leads back to the page that is shown. */
export function signInPath(): string {
  return signInTo(window.location)
}
