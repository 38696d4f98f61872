// Tests of Apollo Client. They need the schema of package gqltest.
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { ApolloLink, CombinedGraphQLErrors, Observable, gql } from '@apollo/client'
import { GraphQLWsLink } from '@apollo/client/link/subscriptions'
import { print } from 'graphql'
import { createClient as createSSE } from 'graphql-sse'
import { createClient as createWS } from 'graphql-ws'
import { WebSocket } from 'ws'
import { apollo } from './apollo.mjs'
import { idle, noInside, push, running, soon, url, ws } from './support.mjs'

beforeEach(idle)

test('a query', soon, async (t) => {
  const { client } = apollo(t)
  const { data } = await client.query({
    query: gql`
      query H($name: String) {
        hello(name: $name)
      }
    `,
    variables: { name: 'Li' },
  })
  assert.deepEqual(data, { hello: 'hello Li' })
})

test('a partial result', soon, async (t) => {
  const { client } = apollo(t)
  const { data, error } = await client.query({
    query: gql`
      {
        hello
        fail
      }
    `,
  })
  assert.deepEqual(data, { hello: 'hello world', fail: null })
  assert.ok(CombinedGraphQLErrors.is(error))
  assert.deepEqual(
    error.errors.map((e) => e.path),
    [['fail']],
  )
  noInside(error.errors)
})

test('a request error', soon, async (t) => {
  const { client } = apollo(t)
  const { error } = await client.query({
    query: gql`
      {
        noSuchField
      }
    `,
  })
  assert.ok(CombinedGraphQLErrors.is(error), `${error}`)
  assert.ok(error.errors[0].extensions.code)
})

test('a mutation', soon, async (t) => {
  const { client } = apollo(t)
  const { data } = await client.mutate({
    mutation: gql`
      mutation {
        setName(name: "Li")
      }
    `,
  })
  assert.deepEqual(data, { setName: 'Li' })
})

test('a token identifies the viewer', soon, async (t) => {
  const { client } = apollo(t, { headers: { Authorization: 'Bearer ann' } })
  assert.deepEqual(
    (
      await client.query({
        query: gql`
          {
            viewer
          }
        `,
      })
    ).data,
    { viewer: 'ann' },
  )
})

test('a persisted query takes two requests, then one', soon, async (t) => {
  const { client, requests } = apollo(t, { persisted: true })
  const query = gql`
    query Persisted {
      hello
      item(id: "1") {
        name
      }
    }
  `
  for (const [want, bodies] of [
    [2, ['hash', 'both']],
    [1, ['hash']],
  ]) {
    requests.length = 0
    const { data } = await client.query({ query })
    assert.equal(data.hello, 'hello world')
    assert.equal(requests.length, want)
    const sent = requests.map(({ body }) => (JSON.parse(body).query ? 'both' : 'hash'))
    assert.deepEqual(sent, bodies)
  }
})

test('a persisted query of one client is known for the next', soon, async (t) => {
  const query = gql`
    query ReadByOne {
      hello
    }
  `
  await apollo(t, { persisted: true }).client.query({ query })
  const { client, requests } = apollo(t, { persisted: true })
  await client.query({ query })
  assert.equal(requests.length, 1)
})

// The link over graphql-sse, from its documentation.
class SSELink extends ApolloLink {
  constructor(options) {
    super()
    this.client = createSSE(options)
  }

  request({ query, ...operation }) {
    return new Observable((sink) =>
      this.client.subscribe(
        { ...operation, query: print(query) },
        {
          next: sink.next.bind(sink),
          complete: sink.complete.bind(sink),
          error: sink.error.bind(sink),
        },
      ),
    )
  }
}

const links = {
  'a WebSocket': (t) => {
    const client = createWS({ url: ws(url), webSocketImpl: WebSocket })
    t.after(() => client.dispose())
    return new GraphQLWsLink(client)
  },
  'an event stream': (t) => {
    const link = new SSELink({ url })
    t.after(() => link.client.dispose())
    return link
  },
}

for (const [name, link] of Object.entries(links)) {
  test(`a subscription over ${name}`, soon, async (t) => {
    const { client } = apollo(t, { link: link(t) })
    const got = await new Promise((resolve, reject) => {
      const events = []
      client
        .subscribe({
          query: gql`
            subscription {
              count(to: 3)
            }
          `,
        })
        .subscribe({
          next: ({ data }) => events.push(data.count),
          error: reject,
          complete: () => resolve(events),
        })
    })
    assert.deepEqual(got, [1, 2, 3])
  })

  test(`leaving a subscription over ${name}`, soon, async (t) => {
    const { client } = apollo(t, { link: link(t) })
    let stop
    const tick = new Promise((resolve, reject) => {
      stop = client
        .subscribe({
          query: gql`
            subscription {
              ticks {
                number
                text
              }
            }
          `,
        })
        .subscribe({ next: resolve, error: reject })
    })
    await running('ticks', 1)
    await push('a tick')
    assert.equal((await tick).data.ticks.text, 'a tick')
    stop.unsubscribe()
    await running('ticks', 0)
  })
}
