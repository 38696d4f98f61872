import type { Role } from '@/api/types.gql'

/** A login to try, where the server offers some: the one that has everything in itself, to its own machine. */
export interface DemoLogin {
  readonly role: Role
  readonly phone: string
  readonly password: string
  readonly nickname: string
}

/** Asks the server for logins to try. None is no error. */
export async function demoLogins(signal?: AbortSignal): Promise<readonly DemoLogin[]> {
  try {
    const response = await fetch('/demo/logins', { signal: signal ?? null })
    if (!response.ok) return []
    const { logins } = (await response.json()) as { logins: readonly DemoLogin[] }
    return logins
  } catch {
    return [] // without them one signs in by phone
  }
}
