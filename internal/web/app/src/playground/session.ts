// Who is signed in, in the playground alone: the token is in a variable of this page
// and ends with it. Without one of its own the playground is whoever the app is.

import type { DemoLogin } from '@/session/demo'

const appKey = 'tandian.session'

export interface Somebody {
  nickname: string
  role: string
}

let token: string | undefined
let ours = false // whether the session began here, so that it may end here

/** What a request carries to be that of whoever is signed in. */
export function authorization(): Record<string, string> {
  return token ? { Authorization: `Bearer ${token}` } : {}
}

/** Takes over the app's session, and returns whose it is; null for nobody, also when that cannot be told. */
export async function resume(): Promise<Somebody | null> {
  token = appToken()
  if (!token) return null
  const somebody = await me().catch(() => null)
  if (!somebody) token = undefined
  return somebody
}

/** Begins a session, and returns whose it is. */
export async function signIn({ phone, password }: DemoLogin): Promise<Somebody> {
  const query = `mutation Login($phone: String!, $password: String!) {
    login(input: { phone: $phone, password: $password }) {
      token user { nickname role } userErrors { message }
    }
  }`
  const { login } = await ask<{
    login: { token: string | null; user: Somebody | null; userErrors: { message: string }[] }
  }>(query, { phone, password })
  if (!login.token || !login.user) throw new Error(login.userErrors.map((e) => e.message).join(' '))
  token = login.token
  ours = true
  return login.user
}

/** Ends a session that began here; the app's is only let go of. */
export async function signOut(): Promise<void> {
  const end = ours ? ask(`mutation Logout { logout { userErrors { message } } }`) : undefined
  token = undefined
  ours = false
  await end
}

async function me(): Promise<Somebody | null> {
  const answer = await ask<{ me: Somebody | null }>('query WhoIsSignedIn { me { nickname role } }')
  return answer.me
}

function appToken(): string | undefined {
  try {
    const session = JSON.parse(localStorage.getItem(appKey) ?? 'null') as { token?: unknown } | null
    return typeof session?.token === 'string' ? session.token : undefined
  } catch {
    return undefined // no storage, or somebody else's
  }
}

async function ask<Data>(query: string, variables: object = {}): Promise<Data> {
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
