import type { ReactNode } from 'react'
import { Redirect } from 'wouter'

import { useSession } from './session'
import { signInPath } from './useSignInGuard'

/** Shows its children to signed-in users and redirects others to the sign-in screen. */
export function RequireSignIn({ children }: { children: ReactNode }) {
  return useSession() === null ? <Redirect to={signInPath()} replace /> : children
}
