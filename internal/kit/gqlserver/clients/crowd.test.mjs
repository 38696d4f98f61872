// Many WebSocket and SSE clients during restarts of their server. Each one reconnects, not
// repeatedly and not all at once, and gets every event once and in order. The test needs
// the schema of package gqltest.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { createClient as createStreams } from 'graphql-sse'
import { createClient as createSockets } from 'graphql-ws'
import { WebSocket } from 'ws'
import { control, eventually, post, url, ws } from './support.mjs'

const query =
  'subscription T($topic: String!, $after: Int) { told(topic: $topic, after: $after) { number text } }'
const topic = 'crowd'
const perKind = 40
const restarts = 2

// The options of the README: retry forever, and start with a random wait.
const wait = async (retries) => pause(Math.random() * 500 + 50 * Math.min(retries, 10))
const settings = { retryAttempts: Infinity }

// A client sends its current variables whenever it connects, so it continues after the
// last event that it got.
class Follower {
  received = []
  connected = []
  failed = null
  variables = { topic, after: 0 }

  sink() {
    return {
      next: ({ data, errors }) => {
        if (errors) this.failed = errors
        else {
          this.received.push(data.told.text)
          this.variables.after = data.told.number
        }
      },
      error: (e) => (this.failed = e),
      complete: () => (this.failed = 'complete'),
    }
  }
}

function overSocket(t, n) {
  const f = new Follower()
  const client = createSockets({
    url: ws(url),
    webSocketImpl: WebSocket,
    ...settings,
    retryWait: wait,
    connectionParams: () => ({ authorization: `Bearer socket${n % 8}` }),
    on: { connected: () => f.connected.push(Date.now()) },
  })
  client.subscribe({ query, variables: f.variables }, f.sink())
  t.after(() => client.dispose())
  return f
}

function overStream(t, n) {
  const f = new Follower()
  const client = createStreams({
    url,
    ...settings,
    retry: wait,
    headers: { Authorization: `Bearer stream${n % 8}` },
    fetchFn: async (address, init) => {
      const response = await fetch(address, init)
      if (response.ok) f.connected.push(Date.now())
      return response
    },
  })
  client.subscribe({ query, variables: f.variables }, f.sink())
  t.after(() => client.dispose())
  return f
}

test('many clients during restarts', { timeout: 90_000 }, async (t) => {
  const crowd = []
  for (let n = 0; n < perKind; n++) crowd.push(overSocket(t, n), overStream(t, n))
  const all = (what, is) => eventually(what, async () => crowd.every(is), 30_000)
  const want = []
  const publish = async () => {
    want.push(`text ${want.length}`)
    await control(`tell/${topic}/${encodeURIComponent(want.at(-1))}`)
  }
  await all('all connected', (f) => f.connected.length === 1)
  await publish()
  await all('the first event', (f) => f.received.length === want.length)
  for (let restart = 1; restart <= restarts; restart++) {
    const began = Date.now()
    const restarted = control('restart?over=800ms')
    for (let i = 0; i < 10; i++) {
      await publish()
      await pause(50)
    }
    await restarted
    await publish()
    await all('all events', (f) => f.received.length >= want.length)
    const back = crowd.map((f) => f.connected.at(-1) - began).toSorted((a, b) => a - b)
    assert.ok(back[0] > 0, 'a client did not reconnect after the restart')
    const burst = Math.max(
      ...back.map((from) => back.filter((at) => at >= from && at < from + 100).length),
    )
    assert.ok(burst < crowd.length / 2, `${burst} of ${crowd.length} reconnected within 100 ms`)
  }
  for (const f of crowd) {
    assert.equal(f.failed, null)
    assert.deepEqual(f.received, want)
    assert.ok(
      f.connected.length <= 1 + 2 * restarts,
      `a client connected ${f.connected.length} times`,
    )
  }
  const { data } = await post('{ running(field: "slow") }')
  assert.equal(data.running, 0)
})
