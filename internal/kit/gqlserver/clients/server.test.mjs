// Apollo Client and urql with a complete Tandian server, its demo shops and a user with
// TANDIAN_PHONE and TANDIAN_PASSWORD.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CombinedGraphQLErrors, gql } from '@apollo/client'
import { gql as urqlGql } from '@urql/core'
import { apollo } from './apollo.mjs'
import { noInside, soon } from './support.mjs'
import { urql } from './urql.mjs'

const { TANDIAN_PHONE: phone, TANDIAN_PASSWORD: password } = process.env

const shops = `query Shops($first: Int!, $after: Cursor) {
  shops(first: $first, after: $after, orderBy: NEWEST) {
    edges { cursor node { id name type { name } images { url } location { lat lng } } }
    pageInfo { hasNextPage endCursor }
  }
}`
const login = `mutation Login($input: LoginInput!) {
  login(input: $input) { token user { id nickname } userErrors { code message field } }
}`

// Clients with a common interface: ask for data, and list the requests.
const clients = {
  apollo: (t, options) => {
    const { client, requests } = apollo(t, options)
    const ask = (text, variables) =>
      text.startsWith('mutation')
        ? client.mutate({ mutation: gql(text), variables, errorPolicy: 'all' })
        : client.query({ query: gql(text), variables })
    return {
      requests,
      ask: async (text, variables) => {
        const { data, error } = await ask(text, variables)
        assert.ok(!error || CombinedGraphQLErrors.is(error), `${error}`)
        return { data, errors: error?.errors ?? [] }
      },
    }
  },
  urql: (t, options) => {
    const { client, requests } = urql(options)
    const ask = (text, variables = {}) =>
      text.startsWith('mutation')
        ? client.mutation(urqlGql(text), variables)
        : client.query(urqlGql(text), variables)
    return {
      requests,
      ask: async (text, variables) => {
        const { data, error } = await ask(text, variables)
        assert.equal(error?.networkError, undefined)
        return { data, errors: error?.graphQLErrors ?? [] }
      },
    }
  },
}

for (const [name, client] of Object.entries(clients)) {
  test(`${name}: types of shops`, soon, async (t) => {
    const { data, errors } = await client(t).ask('{ shopTypes { id name sort } }')
    assert.deepEqual(errors, [])
    assert.ok(data.shopTypes.length > 1)
    const order = data.shopTypes.map(({ sort }) => sort)
    assert.deepEqual(
      order,
      order.toSorted((a, b) => a - b),
    )
  })

  test(`${name}: pages of shops`, soon, async (t) => {
    const { ask } = client(t)
    const seen = new Set()
    for (let page = 0, after = null; page < 3; page++) {
      const { data, errors } = await ask(shops, { first: 2, after })
      assert.deepEqual(errors, [])
      for (const { node } of data.shops.edges) seen.add(node.id)
      assert.equal(data.shops.edges.at(-1).cursor, data.shops.pageInfo.endCursor)
      after = data.shops.pageInfo.endCursor
    }
    assert.equal(seen.size, 6)
  })

  test(`${name}: a persisted query takes two requests, then one`, soon, async (t) => {
    const { ask, requests } = client(t, { persisted: true })
    const query = `query PersistedBy_${name} { shopTypes { name } }`
    for (const want of [2, 1]) {
      requests.length = 0
      const { data, errors } = await ask(query)
      assert.deepEqual(errors, [])
      assert.ok(data.shopTypes.length > 1)
      assert.equal(requests.length, want)
    }
  })

  test(`${name}: an error of a field comes with the rest of the data`, soon, async (t) => {
    const { data, errors } = await client(t).ask('{ shopTypes { name } node(id: "no id") { id } }')
    assert.ok(data.shopTypes.length > 1)
    assert.equal(data.node, null)
    assert.deepEqual(
      errors.map((e) => [e.path, e.extensions.code]),
      [[['node'], 'BAD_USER_INPUT']],
    )
    noInside(errors)
  })

  test(`${name}: a request error has a code`, soon, async (t) => {
    const { errors } = await client(t).ask('{ noSuchField }')
    assert.deepEqual(
      errors.map((e) => e.extensions.code),
      ['GRAPHQL_VALIDATION_FAILED'],
    )
  })

  test(`${name}: login identifies the viewer`, soon, async (t) => {
    const { ask } = client(t)
    const wrong = await ask(login, { input: { phone, password: 'not the password' } })
    assert.deepEqual(
      wrong.data.login.userErrors.map(({ code }) => code),
      ['INVALID_CREDENTIALS'],
    )
    const { data, errors } = await ask(login, { input: { phone, password } })
    assert.deepEqual([errors, data.login.userErrors], [[], []])
    const signedIn = client(t, { headers: { Authorization: `Bearer ${data.login.token}` } })
    const { data: mine } = await signedIn.ask('{ me { id phone } }')
    assert.equal(mine.me.id, data.login.user.id)
    assert.equal((await ask('{ me { id } }')).data.me, null)
  })
}

test('a mutation that needs a session is rejected without one', soon, async (t) => {
  const { data, errors } = await clients.apollo(t).ask('mutation Out { logout { __typename } }')
  assert.equal(data?.logout ?? null, null)
  assert.deepEqual(
    errors.map((e) => e.extensions.code),
    ['UNAUTHENTICATED'],
  )
})
