// What the programs here share. TANDIAN_DOOR is the URL of a GraphQL endpoint.
// Where a program says that it needs the schema of package gqltest, beside it
// lie doors with other limits, and /control, for what a client cannot do to a server:
// see clients_test.go there.
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'

assert.ok(process.env.TANDIAN_DOOR, 'TANDIAN_DOOR says which server to ask')

export const url = process.env.TANDIAN_DOOR
export const at = (path) => new URL(path, url).href
export const ws = (address) => address.replace(/^http/, 'ws')

// No test takes longer, even on a busy machine.
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

// eventually waits until ask returns something true, and returns that.
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

// idle waits until nothing runs any more that a test before has left.
export const idle = () =>
  eventually('nothing running', async () => {
    const { data } = await post(
      '{ ticks: running(field: "ticks") flood: running(field: "flood") slow: running(field: "slow") }',
    )
    return Object.values(data).every((n) => n === 0)
  })

// push sends a tick, and returns how many subscriptions it reached.
export async function push(text) {
  const { data } = await post('mutation P($text: String!) { push(text: $text) }', {
    variables: { text },
  })
  return data.push
}

// control asks the test that runs the server for something.
export async function control(what) {
  const response = await fetch(at(`/control/${what}`), { method: 'POST' })
  assert.equal(response.status, 204, `control ${what}`)
}

// counted is fetch with a list of what was asked with it.
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

// noInside fails when an answer shows what only the log may say.
export const noInside = (answer) => assert.doesNotMatch(JSON.stringify(answer), /secret/)
