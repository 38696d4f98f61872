// GraphQL over server-sent events in distinct connections mode, with graphql-sse and with
// requests like those of an EventSource. The tests need the schema of package gqltest.
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { createClient } from 'graphql-sse'
import {
  control,
  counted,
  eventually,
  idle,
  noInside,
  push,
  running,
  soon,
  url,
} from './support.mjs'

beforeEach(idle)

function connect(t, options = {}) {
  const { fetch, requests } = counted()
  const client = createClient({ url, fetchFn: fetch, retry: async () => {}, ...options })
  t.after(() => client.dispose())
  return { client, requests }
}

// subscribe collects the events of an operation. done resolves at its end, or rejects.
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

async function once(client, query) {
  const { events, done } = subscribe(client, query)
  await done
  return events
}

test('a subscription to its end', soon, async (t) => {
  const { client, requests } = connect(t)
  const events = await once(client, 'subscription { count(to: 3) }')
  assert.deepEqual(
    events,
    [1, 2, 3].map((count) => ({ data: { count } })),
  )
  assert.equal(requests.length, 1)
})

test('a query and a mutation', soon, async (t) => {
  const { client } = connect(t)
  assert.deepEqual(await once(client, '{ hello }'), [{ data: { hello: 'hello world' } }])
  assert.deepEqual(await once(client, 'mutation { setName(name: "Li") }'), [
    { data: { setName: 'Li' } },
  ])
})

test('a token identifies the viewer', soon, async (t) => {
  const { client } = connect(t, { headers: { Authorization: 'Bearer ann' } })
  assert.deepEqual(await once(client, '{ viewer }'), [{ data: { viewer: 'ann' } }])
})

test('field errors come with the rest of the data', soon, async (t) => {
  const { client } = connect(t)
  const events = [
    ...(await once(client, '{ hello fail }')),
    ...(await once(client, 'subscription { broken }')),
  ]
  assert.deepEqual(
    events.map((e) => e.data),
    [{ hello: 'hello world', fail: null }, { broken: 1 }, { broken: null }, { broken: 3 }],
  )
  assert.deepEqual(
    events.map((e) => e.errors?.length ?? 0),
    [1, 0, 1, 0],
  )
  noInside(events)
})

test('a request error is one event without data', soon, async (t) => {
  const { client, requests } = connect(t)
  for (const query of ['{', '{ noSuchField }', 'subscription { count(to: "x") }']) {
    const events = await once(client, query)
    assert.equal(events.length, 1)
    assert.ok(!('data' in events[0]) && events[0].errors[0].extensions.code, JSON.stringify(events))
  }
  assert.equal(requests.length, 3)
})

test('a failing or panicking subscription ends with an error', soon, async (t) => {
  const { client } = connect(t)
  for (const field of ['refused', 'crashing']) {
    const events = await once(client, `subscription { ${field} }`)
    assert.equal(events.at(-1).errors.length, 1)
    noInside(events)
  }
  await running('crashing', 0)
})

test('cancel stops the resolver', soon, async (t) => {
  const { client } = connect(t)
  for (const [field, query] of [
    ['ticks', 'subscription { ticks { text } }'],
    ['slow', '{ slow }'],
    ['flood', 'subscription { flood }'],
  ]) {
    const operation = subscribe(client, query)
    await running(field, 1)
    operation.stop()
    await running(field, 0)
  }
})

for (const what of ['restart', 'cut']) {
  test(`subscribes again after a ${what}`, soon, async (t) => {
    const { client, requests } = connect(t)
    const ticks = subscribe(client, 'subscription { ticks { text } }')
    await running('ticks', 1)
    await push('before')
    await eventually('a tick', () => ticks.events.length === 1)
    await control(what)
    await eventually('another request', () => requests.length === 2)
    await eventually('a tick after it', async () => {
      await push('after')
      return ticks.events.length > 1
    })
    assert.equal(ticks.events[1].data.ticks.text, 'after')
    await running('ticks', 1)
  })
}

// get sends a request like an EventSource.
async function get(t, query, more = {}) {
  const abort = new AbortController()
  t.after(() => abort.abort())
  const address = new URL(url)
  for (const [name, value] of Object.entries({ query, ...more }))
    address.searchParams.set(name, value)
  const response = await fetch(address, {
    headers: { Accept: 'text/event-stream' },
    signal: abort.signal,
  })
  return { response, abort }
}

test('an EventSource gets a subscription', soon, async (t) => {
  const { response } = await get(t, 'subscription S($to: Int!) { count(to: $to) }', {
    variables: '{"to":2}',
    operationName: 'S',
  })
  assert.equal(response.status, 200)
  assert.match(response.headers.get('content-type'), /^text\/event-stream(; charset=utf-8)?$/)
  assert.match(response.headers.get('cache-control'), /no-cache/)
  assert.match(response.headers.get('cache-control'), /no-store/)
  assert.equal(response.headers.get('x-accel-buffering'), 'no')
  assert.equal(response.headers.get('content-encoding'), null)
  const events = (await response.text())
    .split('\n\n')
    .filter((block) => block && !block.startsWith(':'))
  const wanted = [
    'event: next\ndata: {"data":{"count":1}}',
    'event: next\ndata: {"data":{"count":2}}',
    'event: complete\ndata:',
  ]
  assert.deepEqual(
    events.map((e) => e.trim()),
    wanted,
  )
})

// The timeout is much shorter than the interval of keep-alive comments.
test('an EventSource gets a comment at once', { timeout: 6000 }, async (t) => {
  const { response } = await get(t, 'subscription { ticks { text } }')
  const { value } = await response.body.getReader().read()
  assert.match(Buffer.from(value).toString(), /^:/)
})

test('an EventSource runs queries but no mutations', soon, async (t) => {
  const query = await get(t, '{ hello }')
  assert.match(
    await query.response.text(),
    /event: next\ndata: {"data":{"hello":"hello world"}}\n\n/,
  )
  const mutation = await get(t, 'mutation { setName(name: "x") }')
  const text = await mutation.response.text()
  assert.ok(
    mutation.response.status === 405 || /event: next\ndata: {"errors":/.test(text),
    `${mutation.response.status} ${text}`,
  )
  assert.doesNotMatch(text, /setName":/)
})

test('invalid JSON is a bad request', soon, async () => {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'text/event-stream' },
    body: '{',
  })
  assert.equal(response.status, 400)
  await response.text()
})

test('a subscription needs an event stream or a WebSocket', soon, async () => {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json' },
    body: JSON.stringify({ query: 'subscription { count(to: 1) }' }),
  })
  assert.equal(response.status, 406)
  assert.doesNotMatch(await response.text(), /"data"/)
})
