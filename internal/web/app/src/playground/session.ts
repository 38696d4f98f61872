// The session of the playground. Its token lives in memory until the page closes. Without its own
// session the playground uses the app's.

import type { DemoLogin } from '@/session/demo'

const appKey = 'tandian.session'

export interface User {
  nickname: string
  role: string
}

let token: string | undefined
let startedHere = false // whether the playground started the session, and so may end it

/** Returns the authorization header, if signed in. */
export function authorization(): Record<string, string> {
  return token ? { Authorization: `Bearer ${token}` } : {}
}

/** Adopts the app's session and returns its user; null if there is none or the request fails. */
export async function resume(): Promise<User | null> {
  token = appToken()
  if (!token) return null
  const user = await me().catch(() => null)
  if (!user) token = undefined
  return user
}

/** Starts a session and returns its user. */
export async function signIn({ phone, password }: DemoLogin): Promise<User> {
  const query = `mutation Login($phone: String!, $password: String!) {
    login(input: { phone: $phone, password: $password }) {
      token user { nickname role } userErrors { message }
    }
  }`
  const { login } = await request<{
    login: { token: string | null; user: User | null; userErrors: { message: string }[] }
  }>(query, { phone, password })
  if (!login.token || !login.user) throw new Error(login.userErrors.map((e) => e.message).join(' '))
  token = login.token
  startedHere = true
  return login.user
}

/** Ends a session started here. The app's session is only dropped. */
export async function signOut(): Promise<void> {
  const end = startedHere
    ? request(`mutation Logout { logout { userErrors { message } } }`)
    : undefined
  token = undefined
  startedHere = false
  await end
}

async function me(): Promise<User | null> {
  const answer = await request<{ me: User | null }>('query WhoIsSignedIn { me { nickname role } }')
  return answer.me
}

function appToken(): string | undefined {
  try {
    const session = JSON.parse(localStorage.getItem(appKey) ?? 'null') as { token?: unknown } | null
    return typeof session?.token === 'string' ? session.token : undefined
  } catch {
    return undefined // no storage, or an invalid value
  }
}

async function request<Data>(query: string, variables: object = {}): Promise<Data> {
  const response = await fetch('/graphql', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...authorization() },
    body: JSON.stringify({ query, variables }),
  })
  const { data, errors } = (await response.json()) as {
    data?: Data
    errors?: { message: string }[]
  }
  if (!data) throw new Error(errors?.map((e) => e.message).join(' ') ?? `HTTP ${response.status}`)
  return data
}
