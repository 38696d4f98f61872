import { expect, test } from './fixtures.ts'

// Tests of the fixtures.

const checkReady = `fetch('/readyz').then((r) => r.ok, () => false)`

test('a cut network fails until it is restored', async ({ person, network }) => {
  const ann = await person({ url: network.url })
  await ann.page.goto('/favicon.svg')
  ann.expectNetworkErrors()
  expect(await ann.page.evaluate(checkReady)).toBe(true)
  await network.cut()
  expect(await ann.page.evaluate(checkReady)).toBe(false)
  await network.restore()
  await expect.poll(() => ann.page.evaluate(checkReady)).toBe(true)
})

test('sessions survive a killed server', async ({ person, server }) => {
  const { token } = await server.login('CUSTOMER')
  const ann = await person()
  await ann.page.goto('/favicon.svg')
  ann.expectNetworkErrors()
  await server.kill()
  expect(await ann.page.evaluate(checkReady)).toBe(false)
  await server.start()
  expect(await ann.page.evaluate(checkReady)).toBe(true)
  const { me } = await server.api(token)('{ me { nickname } }')
  expect(me.nickname).toBe('Demo customer')
  const { phone, password } = server.as('CUSTOMER')
  expect((await server.loginWith({ phone, password })).token).not.toBe(token)
})

test('a new user signs in by code', async ({ server }) => {
  const { api } = await server.newUser('+99900088001')
  expect((await api('{ me { role } }')).me.role).toBe('CUSTOMER')
})

test('the demo data has shops, notes and follows', async ({ server }) => {
  const { api } = await server.login('CUSTOMER')
  const town = await api(`{
    shops(orderBy: NEWEST, first: 30) { edges { node { images { url } } } }
    hotNotes(first: 10) { edges { node { images { url } } } }
    me { role feed(first: 1) { edges { node { id } } } }
  }`)
  expect(town.shops.edges).toHaveLength(30)
  expect(town.shops.edges.some((e: any) => e.node.images.length > 0)).toBe(true)
  expect(town.hotNotes.edges).toHaveLength(10)
  expect(town.hotNotes.edges.some((e: any) => e.node.images.length > 0)).toBe(true)
  expect(town.me.feed.edges).toHaveLength(1)
})

test('page errors are collected', async ({ person }) => {
  const ann = await person()
  await ann.page.goto('/playground')
  await expect(ann.page.getByRole('heading', { level: 1 })).toBeVisible()
  expect(ann.errors()).toEqual([])

  for (const script of [
    `console.error('a message')`,
    `queueMicrotask(() => { throw new Error('a mistake') })`,
    `document.body.appendChild(document.createElement('style')).textContent = 'a {}'`,
    `fetch('http://elsewhere.invalid/').catch(() => {})`,
    `fetch('/nowhere')`,
  ]) {
    await ann.page.evaluate(script)
  }
  const seen: string[] = []
  for (const message of [
    'console: a message',
    'error in the page: Error: a mistake',
    'content security policy: style-src-elem refuses inline',
    'content security policy: connect-src refuses http://elsewhere.invalid',
    'status of 404',
  ]) {
    await expect
      .poll(() => {
        seen.push(...ann.errors())
        return seen.join('\n')
      })
      .toContain(message)
  }
  await ann.context.close()
  ann.errors() // late messages
})
