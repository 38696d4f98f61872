// Misuse of the WebSocket protocol. The tests need the schema of package gqltest and two
// more endpoints. /tight limits message size, operations, message rate and time. /few
// accepts two sockets.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { beforeEach, test } from 'node:test'
import { WebSocket } from 'ws'
import { at, control, eventually, idle, push, running, soon, url, ws } from './support.mjs'

beforeEach(idle)

const protocol = 'graphql-transport-ws'

// open connects. The result can send messages and wait for the next message or the close
// code of the server.
async function open(t, { address = url, protocols = [protocol], headers } = {}) {
  const socket = new WebSocket(ws(address), protocols, { headers })
  t.after(() => socket.terminate())
  const waiting = []
  const messages = []
  socket.on('message', (data) => {
    const message = JSON.parse(data)
    if (waiting.length) waiting.shift()(message)
    else messages.push(message)
  })
  const closed = once(socket, 'close').then(([code]) => code)
  await once(socket, 'open')
  return {
    socket,
    messages,
    closed,
    send: (message, options) =>
      socket.send(
        typeof message === 'string' || Buffer.isBuffer(message) ? message : JSON.stringify(message),
        options,
      ),
    next: () => {
      if (messages.length) return Promise.resolve(messages.shift())
      const message = new Promise((resolve) => waiting.push(resolve))
      return Promise.race([message, closed.then((code) => assert.fail(`closed with ${code}`))])
    },
  }
}

// ready opens an acknowledged connection.
async function ready(t, { token, ...options } = {}) {
  const c = await open(t, options)
  c.send({
    type: 'connection_init',
    ...(token ? { payload: { authorization: `Bearer ${token}` } } : {}),
  })
  assert.equal((await c.next()).type, 'connection_ack')
  return c
}

// refused returns the response of a rejected upgrade.
async function refused(t, { address = url, protocols = [protocol], headers } = {}) {
  const socket = new WebSocket(ws(address), protocols, { headers })
  t.after(() => socket.terminate())
  socket.on('error', () => {})
  const [, response] = await Promise.race([
    once(socket, 'unexpected-response'),
    once(socket, 'open').then(() => assert.fail('the upgrade was accepted')),
  ])
  response.resume()
  return response
}

const subscribe = (id, query, more) => ({ type: 'subscribe', id, payload: { query, ...more } })
const hello = (id) => subscribe(id, '{ hello }')
const ticks = (id) => subscribe(id, 'subscription { ticks { text } }')

// answers checks that a query still works on a connection.
async function answers(c) {
  c.send(hello('answers'))
  for (const type of ['next', 'complete']) {
    const { type: got, id } = await c.next()
    assert.deepEqual({ type: got, id }, { type, id: 'answers' })
  }
}

const badMessages = {
  'broken JSON': '{"type":',
  nothing: '',
  'data after the object': '{"type":"ping"} {}',
  'a binary frame': [JSON.stringify({ type: 'ping' }), { binary: true }],
  'invalid UTF-8': [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), { binary: false }],
  'invalid UTF-8 in a good message': [
    Buffer.concat([
      Buffer.from('{"type":"ping","x":"'),
      Buffer.from([0xc3, 0x28]),
      Buffer.from('"}'),
    ]),
    { binary: false },
  ],
  'ping with a payload that is a string': { type: 'ping', payload: 'x' },
  'pong with a payload that is an array': { type: 'pong', payload: [] },
  'an array': [],
  'a string': '"ping"',
  null: 'null',
  'no type': {},
  'a type that is not a string': { type: 7 },
  'an unknown type': { type: 'begin' },
  'a type of the legacy protocol': { type: 'start', id: '1', payload: { query: '{ hello }' } },
  'next, a server message': { type: 'next', id: '1', payload: {} },
  'error, a server message': { type: 'error', id: '1', payload: [] },
  'connection_ack, a server message': { type: 'connection_ack' },
}

const badOperations = {
  'no id': { type: 'subscribe', payload: { query: '{ hello }' } },
  'an empty id': hello(''),
  'an id that is a number': hello(7),
  'an id of 129 bytes': hello('x'.repeat(129)),
  'complete without an id': { type: 'complete' },
  'complete with a number as its id': { type: 'complete', id: 7 },
  'no payload': { type: 'subscribe', id: '1' },
  'a payload that is a string': { type: 'subscribe', id: '1', payload: '{ hello }' },
  'a payload that is an array': { type: 'subscribe', id: '1', payload: [] },
  'a query that is a number': subscribe('1', 7),
  'variables that are an array': subscribe('1', '{ hello }', { variables: [] }),
  'variables that are a string': subscribe('1', '{ hello }', { variables: '{}' }),
  'extensions that are an array': subscribe('1', '{ hello }', { extensions: [] }),
  'an operation name that is a number': subscribe('1', '{ hello }', { operationName: 7 }),
}

const send = (c, row) => (Array.isArray(row) && row.length ? c.send(...row) : c.send(row))

test('an invalid client message closes 4400', soon, async (t) => {
  for (const [name, row] of Object.entries(badMessages)) {
    for (const [when, start] of Object.entries({ before: open, after: ready })) {
      await t.test(`${name}, ${when} connection_init`, soon, async (tt) => {
        const c = await start(tt)
        send(c, row)
        assert.equal(await c.closed, 4400)
      })
    }
  }
  for (const [name, row] of Object.entries(badOperations)) {
    await t.test(name, soon, async (tt) => {
      const c = await ready(tt)
      send(c, row)
      assert.equal(await c.closed, 4400)
    })
  }
  for (const payload of ['x', 7, [], true]) {
    await t.test(`connection_init with ${JSON.stringify(payload)}`, soon, async (tt) => {
      const c = await open(tt)
      c.send({ type: 'connection_init', payload })
      assert.equal(await c.closed, 4400)
    })
  }
})

test('unusual valid messages are accepted', soon, async (t) => {
  const c = await ready(t)
  c.send({ type: 'ping', payload: { at: 1 }, more: 1 })
  assert.equal((await c.next()).type, 'pong')
  c.send({ type: 'pong' }) // unsolicited
  c.send({ type: 'complete', id: 'unknown' })
  c.send(
    subscribe('x'.repeat(128), 'query A { hello } query B { viewer }', {
      operationName: 'A',
      variables: null,
      extensions: null,
      id: 7,
    }),
  )
  assert.deepEqual((await c.next()).payload, { data: { hello: 'hello world' } })
  assert.equal((await c.next()).type, 'complete')
  await answers(c)
})

test('subscribe before connection_init closes 4401', soon, async (t) => {
  const c = await open(t)
  c.send(hello('1'))
  assert.equal(await c.closed, 4401)
})

test('complete before connection_init is ignored', soon, async (t) => {
  const c = await open(t)
  c.send({ type: 'complete', id: '1' })
  c.send({ type: 'connection_init' })
  assert.equal((await c.next()).type, 'connection_ack')
})

test('a bad token closes 4401', soon, async (t) => {
  for (const key of ['authorization', 'Authorization']) {
    const c = await open(t)
    c.send({ type: 'connection_init', payload: { [key]: 'Bearer bad' } })
    assert.equal(await c.closed, 4401)
  }
})

test('a session that ends closes 4403', soon, async (t) => {
  const c = await ready(t, { token: 'dora' })
  await answers(c)
  await control('revoke/dora')
  c.send(hello('1'))
  assert.equal(await c.closed, 4403)
})

test('a session that ends closes 4403 for a silent client', soon, async (t) => {
  const c = await ready(t, { address: at('/tight'), token: 'emil' })
  c.send(ticks('1'))
  await running('ticks', 1)
  await control('revoke/emil')
  assert.equal(await c.closed, 4403)
  await running('ticks', 0)
})

test('a client without sub-protocol is closed 4406', soon, async (t) => {
  const c = await open(t, { protocols: [] })
  assert.equal(await c.closed, 4406)
})

test('a client with other sub-protocols is rejected', soon, async (t) => {
  for (const protocols of [['graphql-ws'], ['chat', 'soap']]) {
    assert.equal((await refused(t, { protocols })).statusCode, 400)
  }
})

test('the sub-protocol may be one of several', soon, async (t) => {
  const c = await ready(t, { protocols: ['graphql-ws', protocol] })
  assert.equal(c.socket.protocol, protocol)
  await answers(c)
})

test('no connection_init in time closes 4408', soon, async (t) => {
  const c = await open(t, { address: at('/hasty') })
  assert.equal(await c.closed, 4408)
})

test('connection_init in time is sufficient', soon, async (t) => {
  const c = await ready(t, { address: at('/hasty') })
  const silent = await open(t, { address: at('/hasty') })
  assert.equal(await silent.closed, 4408) // the timeout of c has passed too
  await answers(c)
})

test('a second connection_init closes 4429', soon, async (t) => {
  const c = await ready(t)
  c.send({ type: 'connection_init' })
  assert.equal(await c.closed, 4429)
})

test('two connection_init at once close 4429', soon, async (t) => {
  const c = await open(t)
  c.send({ type: 'connection_init' })
  c.send({ type: 'connection_init' })
  assert.equal(await c.closed, 4429)
})

test('an id that is in use closes 4409', soon, async (t) => {
  const c = await ready(t)
  c.send(ticks('1'))
  c.send(hello('1'))
  assert.equal(await c.closed, 4409)
  await running('ticks', 0)
})

test('ping gets pong', soon, async (t) => {
  const c = await open(t)
  c.send({ type: 'ping' })
  assert.equal((await c.next()).type, 'pong')
  c.send({ type: 'connection_init' })
  assert.equal((await c.next()).type, 'connection_ack')
  c.send({ type: 'ping' })
  assert.equal((await c.next()).type, 'pong')
})

test('an id is free after the client completes', soon, async (t) => {
  const c = await ready(t)
  for (let i = 0; i < 20; i++) {
    c.send(ticks('1'))
    c.send({ type: 'complete', id: '1' })
  }
  await answers(c)
  assert.deepEqual(c.messages, [], 'complete is not answered')
  await running('ticks', 0)
})

test('an id is free after the server completes', soon, async (t) => {
  const c = await ready(t)
  for (let i = 0; i < 20; i++) {
    c.send(hello('1'))
    assert.deepEqual(await c.next(), {
      type: 'next',
      id: '1',
      payload: { data: { hello: 'hello world' } },
    })
    assert.deepEqual(await c.next(), { type: 'complete', id: '1' })
  }
})

test('an id is free after its error', soon, async (t) => {
  const c = await ready(t)
  for (let i = 0; i < 20; i++) {
    c.send(subscribe('1', '{ noSuchField }'))
    const { type, id, payload } = await c.next()
    assert.deepEqual([type, id, Array.isArray(payload)], ['error', '1', true])
  }
  await answers(c) // and no other message came before
})

test('an excess operation gets an error, and the connection stays', soon, async (t) => {
  const c = await ready(t, { address: at('/tight') })
  c.send(ticks('1'))
  c.send(ticks('2'))
  await running('ticks', 2)
  c.send(ticks('3'))
  const { type, id, payload } = await c.next()
  assert.deepEqual([type, id], ['error', '3'])
  assert.ok(payload[0].message && payload[0].extensions.code, JSON.stringify(payload))
  assert.equal(await push('to two'), 2)
  assert.deepEqual([(await c.next()).type, (await c.next()).type], ['next', 'next'])
  c.send({ type: 'complete', id: '1' })
  await running('ticks', 1)
  await answers(c)
})

test('a message that is too large closes 1009', soon, async (t) => {
  for (const start of [open, ready]) {
    const c = await start(t, { address: at('/tight') })
    c.send({ type: 'ping', payload: { x: 'x'.repeat(5000) } })
    assert.equal(await c.closed, 1009)
  }
})

test('too many messages close 1008, which clients do not retry', soon, async (t) => {
  const c = await ready(t, { address: at('/tight') })
  c.socket.on('error', () => {}) // the server closes it during the writes
  for (let i = 0; i < 500; i++) c.send({ type: 'ping' })
  assert.equal(await c.closed, 1008)
})

test('pages of other origins are rejected', soon, async (t) => {
  for (const Origin of [
    'https://evil.example',
    'null',
    'http://127.0.0.1:1',
    `${new URL(url).origin}.evil.example`,
  ]) {
    assert.equal((await refused(t, { headers: { Origin } })).statusCode, 403, Origin)
  }
})

test('same origin, allowed origins and no origin are accepted', soon, async (t) => {
  for (const headers of [{ Origin: new URL(url).origin }, { Origin: 'https://app.example' }, {}]) {
    await answers(await ready(t, { headers }))
  }
})

test('an excess socket of an address is rejected', soon, async (t) => {
  const address = at('/few')
  const one = await ready(t, { address })
  await ready(t, { address })
  const response = await refused(t, { address })
  assert.equal(response.statusCode, 429)
  assert.match(response.headers['retry-after'] ?? '', /^\d+$/)
  one.socket.close()
  await one.closed
  let third
  await eventually('a free slot', async () => {
    const socket = new WebSocket(ws(address), [protocol])
    t.after(() => socket.terminate())
    socket.on('error', () => {})
    third = await Promise.race([
      once(socket, 'open').then(() => true),
      once(socket, 'close').then(() => false),
    ])
    return third
  })
})

test('the oldest socket of a user is closed', soon, async (t) => {
  const address = at('/tight')
  const oldest = await ready(t, { address, token: 'ann' })
  const second = await ready(t, { address, token: 'ann' })
  const bob = await ready(t, { address, token: 'bob' })
  const third = await ready(t, { address, token: 'ann' })
  assert.equal(await oldest.closed, 4513)
  for (const c of [second, bob, third]) await answers(c)
})
