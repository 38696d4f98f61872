import type { Role } from '@/api/types.gql'

/** A demo account. Only embedded servers offer them, and only on localhost. */
export interface DemoLogin {
  readonly role: Role
  readonly phone: string
  readonly password: string
  readonly nickname: string
}

/** Fetches the demo accounts; an empty list if there are none. */
export async function demoLogins(signal?: AbortSignal): Promise<readonly DemoLogin[]> {
  try {
    const response = await fetch('/demo/logins', { signal: signal ?? null })
    if (!response.ok) return []
    const { logins } = (await response.json()) as { logins: readonly DemoLogin[] }
    return logins
  } catch {
    return [] // then users sign in by phone
  }
}
