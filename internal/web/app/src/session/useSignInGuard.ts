import { useCallback } from 'react'
import { useLocation } from 'wouter'

import { signInTo } from './returnPath'
import { currentSession } from './session'

/**
 * Returns a function that reports whether the user is signed in. If not, it opens the sign-in
 * screen, which leads back here.
 */
export function useSignInGuard(): () => boolean {
  const [, navigate] = useLocation()
  return useCallback(() => {
    if (currentSession() !== null) return true
    navigate(signInPath())
    return false
  }, [navigate])
}

/** Returns the sign-in path that leads back to the current page. */
export function signInPath(): string {
  return signInTo(window.location)
}
