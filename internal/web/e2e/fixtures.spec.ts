import { expect, test } from './fixtures.ts'

// What the other specs rely on.

const ask = `fetch('/readyz').then((r) => r.ok, () => false)`

test('a network that is cut is lost, and found when it is mended', async ({ person, network }) => {
  const ann = await person({ url: network.url })
  await ann.page.goto('/favicon.svg')
  ann.expectNetworkErrors()
  expect(await ann.page.evaluate(ask)).toBe(true)
  await network.cut()
  expect(await ann.page.evaluate(ask)).toBe(false)
  await network.mend()
  await expect.poll(() => ann.page.evaluate(ask)).toBe(true)
})

test('a server that was killed comes back with its sessions', async ({ person, server }) => {
  const { token } = await server.login('CUSTOMER')
  const ann = await person()
  await ann.page.goto('/favicon.svg')
  ann.expectNetworkErrors()
  await server.kill()
  expect(await ann.page.evaluate(ask)).toBe(false)
  await server.start()
  expect(await ann.page.evaluate(ask)).toBe(true)
  const { me } = await server.api(token)('{ me { nickname } }')
  expect(me.nickname).toBe('Demo customer')
  const { phone, password } = server.as('CUSTOMER')
  expect((await server.loginWith({ phone, password })).token).not.toBe(token)
})

test('somebody new comes in by a code', async ({ server }) => {
  const { ask: as } = await server.newcomer('+99900088001')
  expect((await as('{ me { role } }')).me.role).toBe('CUSTOMER')
})

test('the town has shops with pictures, notes, and people whom the customer follows', async ({
  server,
}) => {
  const { ask: as } = await server.login('CUSTOMER')
  const town = await as(`{
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

test('what a page complains of is heard', async ({ person }) => {
  const ann = await person()
  await ann.page.goto('/playground')
  await expect(ann.page.getByRole('heading', { level: 1 })).toBeVisible()
  expect(ann.complaints()).toEqual([])

  for (const script of [
    `console.error('a word')`,
    `queueMicrotask(() => { throw new Error('a mistake') })`,
    `document.body.appendChild(document.createElement('style')).textContent = 'a {}'`,
    `fetch('http://elsewhere.invalid/').catch(() => {})`,
    `fetch('/nowhere')`,
  ]) {
    await ann.page.evaluate(script)
  }
  const heard: string[] = []
  for (const complaint of [
    'console: a word',
    'error in the page: Error: a mistake',
    'content security policy: style-src-elem refuses inline',
    'content security policy: connect-src refuses http://elsewhere.invalid',
    'status of 404',
  ]) {
    await expect
      .poll(() => {
        heard.push(...ann.complaints())
        return heard.join('\n')
      })
      .toContain(complaint)
  }
  await ann.context.close()
  ann.complaints() // what came late
})
