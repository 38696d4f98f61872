import type { ReactNode } from 'react'
import { Redirect } from 'wouter'

import { useSession } from './session'
import { signInPath } from './useSignedIn'

/** Shows its children to who is signed in, and the sign-in screen to anybody else. */
export function SignedIn({ children }: { children: ReactNode }) {
  return useSession() === null ? <Redirect to={signInPath()} replace /> : children
}
