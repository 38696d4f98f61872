// Helpers of the programs in this directory. TANDIAN_DOOR is the URL of a GraphQL endpoint.
// Programs that need the schema of package gqltest also use endpoints with other limits,
// and /control to change the state of the server. See clients_test.go of package gqlserver.
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'

assert.ok(process.env.TANDIAN_DOOR, 'TANDIAN_DOOR must be the URL of a GraphQL endpoint')

export const url = process.env.TANDIAN_DOOR
export const at = (path) => new URL(path, url).href
export const ws = (address) => address.replace(/^http/, 'ws')

// Timeout of a test, long enough for a busy machine.
export const soon = { timeout: 30_000 }

// post sends a document as JSON and returns its result.
export async function post(query, { variables, token, accept = 'application/json' } = {}) {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: accept,
      ...(token ? { Authorization: `Bearer ${token}` } : {}),
    },
    body: JSON.stringify({ query, variables }),
  })
  return response.json()
}

// eventually waits until ask returns a truthy value, and returns the value.
export async function eventually(what, ask, within = 10_000) {
  for (const end = Date.now() + within; ; await pause(5)) {
    const answer = await ask()
    if (answer) return answer
    assert.ok(Date.now() < end, `${what}: not within ${within} ms`)
  }
}

// running waits until n resolvers of a root field run.
export const running = (field, n) =>
  eventually(`${n} of ${field} running`, async () => {
    const { data } = await post('query R($field: String!) { running(field: $field) }', {
      variables: { field },
    })
    return data.running === n
  })

// idle waits until no resolver of an earlier test runs.
export const idle = () =>
  eventually('nothing running', async () => {
    const { data } = await post(
      '{ ticks: running(field: "ticks") flood: running(field: "flood") slow: running(field: "slow") }',
    )
    return Object.values(data).every((n) => n === 0)
  })

// push sends a tick and returns the number of subscriptions that got it.
export async function push(text) {
  const { data } = await post('mutation P($text: String!) { push(text: $text) }', {
    variables: { text },
  })
  return data.push
}

// control sends a command to the test that runs the server.
export async function control(what) {
  const response = await fetch(at(`/control/${what}`), { method: 'POST' })
  assert.equal(response.status, 204, `control ${what}`)
}

// counted returns a fetch function and the list of its requests.
export function counted() {
  const requests = []
  const counting = async (address, init) => {
    const request = {
      method: init?.method ?? 'GET',
      body: init?.body,
      headers: new Headers(init?.headers),
    }
    requests.push(request)
    const response = await fetch(address, init)
    request.status = response.status
    request.type = response.headers.get('content-type')
    return response
  }
  return { fetch: counting, requests }
}

// noInside fails if a response contains internal error text.
export const noInside = (answer) => assert.doesNotMatch(JSON.stringify(answer), /secret/)
