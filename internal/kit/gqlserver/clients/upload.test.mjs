// Uploads by the GraphQL multipart request specification, without an upload client;
// urql.test.mjs uses one. The tests need the schema of package gqltest.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noInside, soon, url } from './support.mjs'

const preflight = { 'GraphQL-Require-Preflight': '1' }
const ann = { Authorization: 'Bearer ann' }

// send posts a form with files, at the given paths.
async function send(operations, map, files, headers) {
  const form = new FormData()
  form.append('operations', JSON.stringify(operations))
  form.append('map', JSON.stringify(map))
  for (const [name, file] of Object.entries(files)) form.append(name, file)
  const response = await fetch(url, { method: 'POST', headers, body: form })
  return { status: response.status, answer: await response.json() }
}

const one = {
  query: 'mutation U($file: Upload!) { upload(file: $file) { name size text } }',
  variables: { file: null },
}
const file = (text, name) => new File([text], name, { type: 'text/plain' })

test('a file', soon, async () => {
  const { status, answer } = await send(
    one,
    { 0: ['variables.file'] },
    { 0: file('探店', 'a.txt') },
    { ...preflight, ...ann },
  )
  assert.equal(status, 200, JSON.stringify(answer))
  assert.deepEqual(answer.data, { upload: { name: 'a.txt', size: 6, text: '探店' } })
})

test('several files', soon, async () => {
  const operations = {
    query: 'mutation U($files: [Upload!]!) { uploads(files: $files) { name text } }',
    variables: { files: [null, null] },
  }
  const map = { a: ['variables.files.0'], b: ['variables.files.1'] }
  const { answer } = await send(
    operations,
    map,
    { a: file('1', 'a'), b: file('2', 'b') },
    { ...preflight, ...ann },
  )
  assert.deepEqual(answer.data, {
    uploads: [
      { name: 'a', text: '1' },
      { name: 'b', text: '2' },
    ],
  })
})

test('a form without the preflight header is rejected', soon, async () => {
  const { status, answer } = await send(one, { 0: ['variables.file'] }, { 0: file('x', 'x') }, ann)
  assert.equal(status, 400)
  assert.ok(!('data' in answer))
})

test('a file of an anonymous client is rejected', soon, async () => {
  const { status, answer } = await send(
    one,
    { 0: ['variables.file'] },
    { 0: file('x', 'x') },
    preflight,
  )
  assert.ok(status >= 400, `${status}`)
  assert.equal(answer.data ?? null, null)
})

test('an invalid map is a bad request', soon, async (t) => {
  const operations = { query: one.query, variables: { file: null, files: [null] } }
  const rows = {
    'an index out of range': { 0: ['variables.files.99'] },
    'a negative index': { 0: ['variables.files.-1'] },
    'an index of an object': { 0: ['variables.0.file'] },
    'a path below a file': { 0: ['variables.file.deeper'] },
    'a path outside of the variables': { 0: ['query'] },
    'an empty path': { 0: [''] },
    'a missing part': { 0: ['variables.file'], 1: ['variables.file'] },
    'paths that are not a list': { 0: 'variables.file' },
    'not an object': [],
  }
  for (const [name, map] of Object.entries(rows)) {
    await t.test(name, soon, async () => {
      const { status, answer } = await send(
        operations,
        map,
        { 0: file('x', 'x') },
        { ...preflight, ...ann },
      )
      assert.equal(status, 400, JSON.stringify(answer))
      noInside(answer)
    })
  }
})
