// GraphQL over HTTP: the official audits and additional tests. They run with any schema
// that has a mutation type.
import assert from 'node:assert/strict'
import { gzipSync } from 'node:zlib'
import { test } from 'node:test'
import { auditServer } from 'graphql-http'
import { soon, url } from './support.mjs'

const legacy = 'application/json'
const current = 'application/graphql-response+json'

test('official audits', soon, async (t) => {
  const results = await auditServer({ url })
  const levels = { MUST: 0, SHOULD: 0, MAY: 0 }
  const failed = []
  for (const { id, name, status, reason } of results) {
    const level = name.split(' ')[0]
    assert.ok(level in levels, `level of ${name}`)
    levels[level]++
    if (status === 'ok') continue
    if (level === 'MAY') t.diagnostic(`not implemented: ${id} ${name}: ${reason}`)
    else failed.push(`${id} ${name}: ${reason}`)
  }
  t.diagnostic(`audits: ${JSON.stringify(levels)}`)
  assert.deepEqual(failed, [])
  assert.ok(levels.MUST >= 13 && levels.SHOULD >= 23, 'the audits are all there')
})

// ask sends a request and returns the response.
async function ask(method, { body, query, ...headers } = {}) {
  const address = new URL(url)
  for (const [name, value] of Object.entries(query ?? {})) address.searchParams.set(name, value)
  const request = { method, headers, body }
  const response = await fetch(address, request)
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    text,
    type: response.headers.get('content-type'),
  }
}

// post sends an object as JSON, or a string or bytes unchanged.
const post = (body, headers = {}) =>
  ask('POST', {
    'Content-Type': 'application/json',
    body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
    ...headers,
  })

const typename = { query: '{ __typename }' }

test('the media type is negotiated', async (t) => {
  const rows = [
    ['*/*', legacy],
    ['application/*', legacy],
    [legacy, legacy],
    [`${legacy}; charset=utf-8`, legacy],
    [current, current],
    [`${current}, ${legacy}`, current],
    [`${legacy}, ${current}`, legacy],
    [`${legacy};q=0.5, ${current}`, current],
    [`${current};q=0.5, ${legacy};q=0.9`, legacy],
    [`text/html, ${legacy};q=0.1`, legacy],
    [`*/*;q=0.9, ${current};q=0.8`, legacy],
    [`${legacy};q=0, ${current};q=0.1`, current],
    ['text/html', null],
    [`${legacy};q=0`, null],
  ]
  for (const [accept, want] of rows) {
    await t.test(accept, async () => {
      const got = await post(typename, { Accept: accept })
      assert.equal(got.status, want ? 200 : 406, got.text)
      if (want) assert.equal(got.type, `${want}; charset=utf-8`)
    })
  }
})

test('responses vary by Accept', async () => {
  const got = await ask('GET', { Accept: legacy, query: typename })
  assert.match(got.headers.get('vary') ?? '', /\bAccept\b(?!-)/)
  assert.match(got.headers.get('cache-control') ?? '', /no-store/)
})

for (const method of ['PUT', 'DELETE', 'PATCH']) {
  test(`${method} is not allowed`, async () => {
    const got = await ask(method, {
      'Content-Type': 'application/json',
      body: JSON.stringify(typename),
    })
    assert.equal(got.status, 405)
    const allowed = got.headers.get('allow').split(/, */)
    assert.ok(allowed.includes('GET') && allowed.includes('POST'), `Allow: ${allowed}`)
  })
}

test('GET never runs a mutation', async () => {
  const got = await ask('GET', { Accept: legacy, query: { query: 'mutation { __typename }' } })
  assert.equal(got.status, 405)
  assert.equal(got.headers.get('allow'), 'POST')
})

test('a body other than plain JSON in UTF-8 is an unsupported media type', async (t) => {
  const body = JSON.stringify(typename)
  const bytes = new TextEncoder().encode(body) // fetch sets no Content-Type for bytes
  const rows = {
    'no content type': { body: bytes },
    'plain text, as from a form of another site': { body, 'Content-Type': 'text/plain' },
    'a form': { body: 'query={__typename}', 'Content-Type': 'application/x-www-form-urlencoded' },
    'a document': { body: '{ __typename }', 'Content-Type': 'application/graphql' },
    'another charset': { body, 'Content-Type': 'application/json; charset=iso-8859-1' },
    compressed: {
      body: gzipSync(bytes),
      'Content-Type': 'application/json',
      'Content-Encoding': 'gzip',
    },
  }
  for (const [name, row] of Object.entries(rows)) {
    await t.test(name, async () => assert.equal((await ask('POST', row)).status, 415))
  }
})

test('utf-8 is accepted in any case', async () => {
  const got = await post(typename, { 'Content-Type': 'application/json; charset=UTF-8' })
  assert.equal(got.status, 200, got.text)
})

test('an invalid GraphQL request is a bad request', async (t) => {
  const rows = {
    'broken JSON': '{"query":',
    'data after the object': `${JSON.stringify(typename)} {}`,
    'invalid UTF-8': new Uint8Array([
      ...Buffer.from('{"query":"{ __typename } #'),
      0xff,
      ...Buffer.from('"}'),
    ]),
    'a batch': [typename, typename],
    'a number': '7',
    null: 'null',
    'no query': {},
    'a query that is not a string': { query: 7 },
    'an operation name that is not a string': { ...typename, operationName: 7 },
    'a long operation name': { ...typename, operationName: 'x'.repeat(300) },
  }
  for (const [name, row] of Object.entries(rows)) {
    for (const accept of [legacy, current]) {
      await t.test(`${name}, ${accept}`, async () => {
        const got = await post(row, { Accept: accept })
        assert.equal(got.status, 400, got.text)
        const answer = JSON.parse(got.text)
        assert.ok(!('data' in answer), got.text)
        assert.ok(
          answer.errors.every((e) => e.message && e.extensions.code),
          got.text,
        )
        assert.ok(got.text.length < 1000, 'the request is not echoed')
      })
    }
  }
})

test('optional properties are not errors', async (t) => {
  const rows = {
    'an empty operation name': { ...typename, operationName: '' },
    'null for optional properties': {
      ...typename,
      operationName: null,
      variables: null,
      extensions: null,
    },
    'unknown properties': { ...typename, id: 1, more: { of: 'this' } },
  }
  for (const [name, row] of Object.entries(rows)) {
    await t.test(name, async () => {
      const got = await post(row)
      assert.equal(got.status, 200, got.text)
      assert.deepEqual(JSON.parse(got.text), { data: { __typename: 'Query' } })
    })
  }
})

test('an empty operation name in a GET is ignored', async () => {
  const got = await ask('GET', { Accept: legacy, query: { ...typename, operationName: '' } })
  assert.deepEqual(JSON.parse(got.text), { data: { __typename: 'Query' } })
})

test('a request error has no data and the status of its media type', async (t) => {
  const rows = {
    'a syntax error': { query: '{' },
    'an unknown field': { query: '{ noSuchField }' },
    'an unknown operation': { ...typename, operationName: 'Unknown' },
    'an unknown variable type': { query: 'query Q($v: NoSuchType) { __typename }' },
    'an unknown hash': {
      extensions: { persistedQuery: { version: 1, sha256Hash: 'a'.repeat(64) } },
    },
  }
  for (const [name, row] of Object.entries(rows)) {
    for (const [accept, status] of Object.entries({ [legacy]: 200, [current]: 400 })) {
      await t.test(`${name}, ${accept}`, async () => {
        const got = await post(row, { Accept: accept })
        assert.equal(got.status, status, got.text)
        const answer = JSON.parse(got.text)
        assert.ok(!('data' in answer), got.text)
        assert.ok(
          answer.errors.every((e) => e.message && e.extensions.code),
          got.text,
        )
      })
    }
  }
})
