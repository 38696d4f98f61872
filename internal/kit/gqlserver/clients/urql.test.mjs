// Tests of urql. They need the schema of package gqltest.
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { gql, subscriptionExchange } from '@urql/core'
import { createClient } from 'graphql-ws'
import { WebSocket } from 'ws'
import { eventually, idle, noInside, push, running, soon, url, ws } from './support.mjs'
import { urql } from './urql.mjs'

beforeEach(idle)

test('a query gets JSON although urql also accepts an event stream', soon, async () => {
  for (const preferGetMethod of [false, true]) {
    const { client, requests } = urql({ preferGetMethod })
    const { data, error } = await client.query(
      gql`
        query H($name: String) {
          hello(name: $name)
        }
      `,
      { name: 'Li' },
    )
    assert.equal(error, undefined)
    assert.deepEqual(data, { hello: 'hello Li' })
    assert.match(requests[0].headers.get('accept'), /text\/event-stream/)
    assert.match(requests[0].type, /^application\/graphql-response\+json/)
    assert.equal(requests[0].method, preferGetMethod ? 'GET' : 'POST')
  }
})

test('a partial result', soon, async () => {
  const { data, error } = await urql().client.query(
    gql`
      {
        hello
        fail
      }
    `,
    {},
  )
  assert.deepEqual(data, { hello: 'hello world', fail: null })
  assert.deepEqual(
    error.graphQLErrors.map((e) => e.path),
    [['fail']],
  )
  noInside(error.graphQLErrors)
})

test('a request error', soon, async () => {
  const { error } = await urql().client.query(
    gql`
      {
        noSuchField
      }
    `,
    {},
  )
  assert.ok(error.graphQLErrors[0].extensions.code, `${error}`)
})

test('a mutation', soon, async () => {
  const { data } = await urql().client.mutation(
    gql`
      mutation M($name: String!) {
        setName(name: $name)
      }
    `,
    { name: 'Li' },
  )
  assert.deepEqual(data, { setName: 'Li' })
})

test('a persisted query takes two requests, then one', soon, async () => {
  const { client, requests } = urql({ persisted: true })
  const query = gql`
    query PersistedByUrql {
      hello
      item(id: "1") {
        name
      }
    }
  `
  for (const want of [['hash', 'both'], ['hash']]) {
    requests.length = 0
    const { data, error } = await client.query(query, {})
    assert.equal(error, undefined)
    assert.equal(data.hello, 'hello world')
    assert.deepEqual(
      requests.map(({ body }) => (JSON.parse(body).query ? 'both' : 'hash')),
      want,
    )
  }
})

test('files', soon, async () => {
  const { client, requests } = urql({
    headers: { 'GraphQL-Require-Preflight': '1', Authorization: 'Bearer ann' },
  })
  const { data, error } = await client.mutation(
    gql`
      mutation U($file: Upload!, $files: [Upload!]!) {
        upload(file: $file) {
          name
          size
          text
        }
        uploads(files: $files) {
          name
          text
        }
      }
    `,
    { file: new File(['探店'], 'a.txt'), files: [new File(['1'], 'b'), new File(['2'], 'c')] },
  )
  assert.equal(error, undefined)
  assert.deepEqual(data.upload, { name: 'a.txt', size: 6, text: '探店' })
  assert.deepEqual(
    data.uploads.map(({ name, text }) => [name, text]),
    [
      ['b', '1'],
      ['c', '2'],
    ],
  )
  assert.ok(requests[0].body instanceof FormData)
})

const transports = {
  'a WebSocket': (t) => {
    const socket = createClient({ url: ws(url), webSocketImpl: WebSocket })
    t.after(() => socket.dispose())
    const forwardSubscription = (request) => ({
      subscribe: (sink) => ({
        unsubscribe: socket.subscribe(
          { query: request.query ?? '', variables: request.variables },
          sink,
        ),
      }),
    })
    return { exchanges: [subscriptionExchange({ forwardSubscription })] }
  },
  'an event stream': () => ({ fetchSubscriptions: true }),
}

for (const [name, options] of Object.entries(transports)) {
  test(`a subscription over ${name}`, soon, async (t) => {
    const { client } = urql(options(t))
    const got = []
    const { unsubscribe } = client
      .subscription(
        gql`
          subscription {
            ticks {
              text
            }
          }
        `,
        {},
      )
      .subscribe((result) => got.push(result))
    await running('ticks', 1)
    for (const text of ['a', 'b']) await push(text)
    await eventually('both ticks', () => got.length === 2)
    unsubscribe()
    await running('ticks', 0)
    assert.deepEqual(
      got.map(({ data, error }) => error ?? data.ticks.text),
      ['a', 'b'],
    )
  })

  test(`the end of a subscription over ${name}`, soon, async (t) => {
    const { client } = urql(options(t))
    const got = await new Promise((resolve, reject) => {
      const counts = []
      client
        .subscription(
          gql`
            subscription {
              count(to: 3)
            }
          `,
          {},
        )
        .subscribe(({ data, error }) => {
          if (error) reject(error)
          counts.push(data.count)
          if (data.count === 3) resolve(counts)
        })
    })
    assert.deepEqual(got, [1, 2, 3])
    await running('count', 0)
  })
}
