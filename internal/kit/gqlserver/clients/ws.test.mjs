// The protocol graphql-transport-ws with its reference client, graphql-ws. The tests need
// the schema of package gqltest.
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { createClient } from 'graphql-ws'
import { WebSocket } from 'ws'
import { control, eventually, idle, noInside, push, running, soon, url, ws } from './support.mjs'

beforeEach(idle)

// Options of a client that stays connected without operations.
const staying = { lazy: false, onNonLazyError: () => {} }

// connect returns a client and the list of its sockets.
function connect(t, options = {}) {
  const sockets = []
  const client = createClient({
    url: ws(url),
    webSocketImpl: WebSocket,
    retryWait: async () => {},
    ...options,
    on: { ...options.on, opened: (socket) => sockets.push(socket) },
  })
  t.after(() => client.dispose())
  return { client, sockets }
}

// subscribe collects the events of a subscription. done resolves at its end, or rejects.
function subscribe(client, query) {
  const events = []
  let stop
  const done = new Promise((resolve, reject) => {
    stop = client.subscribe(
      { query },
      { next: (e) => events.push(e), error: reject, complete: resolve },
    )
  })
  done.catch(() => {}) // tests await done if they need it
  return { events, done, stop: () => stop() }
}

// once runs an operation to its end and returns its events.
async function once(client, query) {
  const { events, done } = subscribe(client, query)
  await done
  return events
}

test('a query', soon, async (t) => {
  const { client } = connect(t)
  assert.deepEqual(await once(client, '{ hello(name: "Li") }'), [{ data: { hello: 'hello Li' } }])
})

test('a mutation', soon, async (t) => {
  const { client } = connect(t)
  assert.deepEqual(await once(client, 'mutation { setName(name: "Li") }'), [
    { data: { setName: 'Li' } },
  ])
})

test('the token of connection_init identifies the viewer', soon, async (t) => {
  const { client } = connect(t, { connectionParams: { authorization: 'Bearer ann' } })
  assert.deepEqual(await once(client, '{ viewer }'), [{ data: { viewer: 'ann' } }])
})

test('the token of the upgrade request identifies the viewer', soon, async (t) => {
  class WithToken extends WebSocket {
    constructor(address, protocol) {
      super(address, protocol, { headers: { Authorization: 'Bearer ann' } })
    }
  }
  const { client } = connect(t, { webSocketImpl: WithToken })
  assert.deepEqual(await once(client, '{ viewer }'), [{ data: { viewer: 'ann' } }])
})

test('a field error comes with the rest of the data', soon, async (t) => {
  const { client } = connect(t)
  const [result, ...more] = await once(client, '{ hello fail }')
  assert.deepEqual(result.data, { hello: 'hello world', fail: null })
  assert.deepEqual(
    result.errors.map((e) => e.path),
    [['fail']],
  )
  assert.deepEqual(more, [])
  noInside(result)
})

test('a subscription to its end', soon, async (t) => {
  const { client } = connect(t)
  const events = await once(client, 'subscription { count(to: 3) }')
  assert.deepEqual(
    events,
    [1, 2, 3].map((count) => ({ data: { count } })),
  )
})

test('a field error in an event does not end the subscription', soon, async (t) => {
  const { client } = connect(t)
  const events = await once(client, 'subscription { broken }')
  assert.deepEqual(
    events.map((e) => e.data.broken),
    [1, null, 3],
  )
  assert.deepEqual(
    events.map((e) => e.errors?.length ?? 0),
    [0, 1, 0],
  )
  noInside(events)
})

test('a panic ends its own operation only', soon, async (t) => {
  const { client, sockets } = connect(t)
  const ticks = subscribe(client, 'subscription { ticks { text } }')
  await running('ticks', 1)
  const crashing = subscribe(client, 'subscription { crashing }')
  const failure = await crashing.done.then(
    () => crashing.events.at(-1).errors,
    (errors) => errors,
  )
  assert.equal(failure[0].message, 'internal error')
  noInside(failure)
  assert.deepEqual(crashing.events[0], { data: { crashing: 1 } })
  await running('crashing', 0)
  assert.equal(await push('still here'), 1)
  await eventually('a tick', () => ticks.events.length)
  assert.equal(sockets.length, 1)
})

test('a subscription whose resolver fails', soon, async (t) => {
  const { client, sockets } = connect(t, staying)
  const refused = subscribe(client, 'subscription { refused }')
  const failure = await refused.done.then(
    () => refused.events[0].errors,
    (errors) => errors,
  )
  assert.equal(failure.length, 1)
  noInside(failure)
  await once(client, '{ hello }')
  assert.equal(sockets.length, 1)
})

test('cancel stops the resolver, and the connection stays', soon, async (t) => {
  const { client, sockets } = connect(t, staying)
  const ticks = subscribe(client, 'subscription { ticks { number } }')
  await running('ticks', 1)
  ticks.stop()
  await running('ticks', 0)
  await once(client, '{ hello }')
  assert.equal(sockets.length, 1)
})

test('cancel stops a query', soon, async (t) => {
  const { client } = connect(t)
  const slow = subscribe(client, '{ slow }')
  await running('slow', 1)
  slow.stop()
  await running('slow', 0)
})

test('a request error does not close the connection', soon, async (t) => {
  const { client, sockets } = connect(t, staying)
  for (const query of [
    '{',
    '{ noSuchField }',
    'subscription { count(to: "x") }',
    '{ hello } { hello }',
  ]) {
    await assert.rejects(once(client, query), (errors) => {
      assert.ok(
        Array.isArray(errors) && errors[0].message && errors[0].extensions.code,
        JSON.stringify(errors),
      )
      return true
    })
  }
  assert.deepEqual(await once(client, '{ hello }'), [{ data: { hello: 'hello world' } }])
  assert.equal(sockets.length, 1)
})

test('20 subscriptions at once on one connection', soon, async (t) => {
  const { client, sockets } = connect(t)
  const all = await Promise.all(
    Array.from({ length: 20 }, (_, i) => once(client, `subscription { count(to: ${10 + i}) }`)),
  )
  all.forEach((events, i) => {
    assert.deepEqual(
      events.map((e) => e.data.count),
      Array.from({ length: 10 + i }, (_, n) => n + 1),
    )
  })
  assert.equal(sockets.length, 1)
})

test('subscribes again after the socket broke', soon, async (t) => {
  const { client, sockets } = connect(t)
  const ticks = subscribe(client, 'subscription { ticks { text } }')
  await running('ticks', 1)
  sockets[0].terminate()
  await eventually('another socket', () => sockets.length === 2)
  await eventually('the tick that one subscription gets', async () => {
    await push('after')
    return ticks.events.length
  })
  assert.equal(ticks.events[0].data.ticks.text, 'after')
  await running('ticks', 1) // the broken subscription has ended
})

test('the client reconnects after a restart', soon, async (t) => {
  const closed = []
  const { client, sockets } = connect(t, { on: { closed: (event) => closed.push(event.code) } })
  const ticks = subscribe(client, 'subscription { ticks { text } }')
  await running('ticks', 1)
  let ended = 'not'
  ticks.done.then(
    () => (ended = 'well'),
    (reason) => (ended = reason),
  )
  await control('restart')
  await eventually('the end of the socket', () => closed.length)
  assert.deepEqual(closed, [1012])
  await eventually('another socket', () => sockets.length === 2 || assert.equal(ended, 'not'))
  await running('ticks', 1)
  await push('after')
  await eventually('a tick', () => ticks.events.length)
})

// fatal waits for the failure of a client's subscription and returns the close code.
async function fatal(subscription) {
  const event = await subscription.done.then(
    () => assert.fail('the subscription ended without an error'),
    (e) => e,
  )
  return event.code
}

test('a bad token is fatal', soon, async (t) => {
  const { client, sockets } = connect(t, { connectionParams: { authorization: 'Bearer bad' } })
  assert.equal(await fatal(subscribe(client, '{ hello }')), 4401)
  assert.equal(sockets.length, 1, 'the client tries once')
})

test('a token that cannot be verified now is retried', soon, async (t) => {
  const closed = []
  const { client } = connect(t, {
    connectionParams: { authorization: 'Bearer unknown' },
    retryAttempts: 2,
    on: { closed: (event) => closed.push(event.code) },
  })
  assert.equal(await fatal(subscribe(client, '{ hello }')), 1013)
  assert.deepEqual(closed, [1013, 1013, 1013])
})

test('the client gets a new session after one ended', soon, async (t) => {
  const closed = []
  let token = 'carl'
  const { client } = connect(t, {
    connectionParams: () => ({ authorization: `Bearer ${token}` }),
    on: {
      closed: (event) => {
        closed.push(event.code)
        token = 'ann'
      },
    },
  })
  subscribe(client, 'subscription { ticks { text } }')
  await running('ticks', 1)
  await control('revoke/carl')
  assert.deepEqual(await once(client, '{ viewer }'), [{ data: { viewer: 'ann' } }])
  assert.deepEqual(closed, [4403])
})

test('a lazy client connects on demand and disconnects afterwards', soon, async (t) => {
  const closed = []
  const { client, sockets } = connect(t, {
    on: { closed: (e) => closed.push(e.code) },
  })
  assert.equal(sockets.length, 0)
  await once(client, '{ hello }')
  await eventually('the client disconnects', () => closed.length)
  assert.deepEqual([sockets.length, closed], [1, [1000]])
})

test('a client that is not lazy connects at once', soon, async (t) => {
  let acknowledged = 0
  const { client, sockets } = connect(t, { lazy: false, on: { connected: () => acknowledged++ } })
  await eventually('the acknowledgement', () => acknowledged)
  await once(client, '{ hello }')
  assert.equal(sockets.length, 1)
})

test('the client may ping', soon, async (t) => {
  const pongs = []
  const { client } = connect(t, {
    lazy: false,
    keepAlive: 20,
    on: { pong: (received) => received && pongs.push(received) },
  })
  await eventually('three pongs', () => pongs.length >= 3)
  await once(client, '{ hello }')
})
