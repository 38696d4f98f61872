import { expect, test } from './fixtures.ts'
import type { Api } from './server.ts'
import { follow, publishNote } from './testdata.ts'

async function shopName(api: Api, id: string): Promise<string> {
  const { shop } = await api(`query ($id: ID!) { shop(id: $id) { name } }`, { id })
  return shop.name
}

async function renameShop(api: Api, id: string, name: string): Promise<void> {
  const { updateShop } = await api(
    `mutation ($id: ID!, $name: String!) { updateShop(input: {id: $id, name: $name}) { userErrors { message } } }`,
    { id, name },
  )
  expect(updateShop.userErrors).toEqual([])
}

test('an offline page shows a banner and refetches later', async ({ person, server }) => {
  const { page, context, expectNetworkErrors } = await person()
  await page.goto(`/shops/${server.shop}`)
  const name = page.getByRole('heading', { level: 1 })
  const { api } = await server.login('MERCHANT')
  const before = await shopName(api, server.shop)
  await expect(name).toHaveText(before)

  expectNetworkErrors()
  await context.setOffline(true)
  await expect(page.getByText('You’re offline. Content may be out of date.')).toBeVisible()
  await renameShop(api, server.shop, 'Renamed while offline')
  await expect(name).toHaveText(before)
  await context.setOffline(false)
  // Neither the banner nor a section that was loading shows the message any more.
  await expect(page.getByText('You’re offline.')).toHaveCount(0)
  await expect(name).toHaveText('Renamed while offline')
  await renameShop(api, server.shop, before)
})

test('content stays when a refetch fails', async ({ person, server }) => {
  const { page, context, expectNetworkErrors } = await person()
  await page.goto('/')
  const nearby = page.getByRole('region', { name: 'Nearby' })
  await nearby.getByRole('article').first().getByRole('link').click()
  await page.waitForURL('**/shops/*')
  const { api } = await server.login('MERCHANT')
  const name = await shopName(api, new URL(page.url()).pathname.split('/').at(-1)!)
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(name)

  expectNetworkErrors()
  await context.setOffline(true)
  const failed = () =>
    page.waitForEvent('requestfailed', (request) => request.url().endsWith('/graphql'))
  let asked = failed()
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
  await asked
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(name)
  asked = failed()
  await page.goBack()
  await asked
  await expect(nearby.getByRole('article').first()).toBeVisible()
  await expect(page.locator('html')).toHaveAttribute('data-network', 'offline')
})

test('a list shows although another query fails', async ({ person, server }) => {
  const author = await server.newUser('+999007770501')
  const reader = await server.newUser('+999007770502')
  await follow(reader.api, author.userId)
  const { page } = await person({ as: reader })
  const busy = { message: 'Busy', path: ['user'], extensions: { code: 'UNAVAILABLE' } }
  let refused!: () => void
  const before = new Promise<void>((resolve) => (refused = resolve))
  await page.route('**/graphql', async (route) => {
    const { operationName } = route.request().postDataJSON()
    if (operationName === 'UserName') {
      await route.fulfill({ json: { data: { user: null }, errors: [busy] } })
      refused()
      return undefined
    }
    if (operationName === 'Followers') await before
    return route.continue()
  })
  await page.goto(`/users/${author.userId}/followers`)
  const list = page.getByRole('main').getByRole('listitem')
  await expect(list.getByRole('link', { name: /^user_/ })).toBeVisible()
})

test('the feed retries its start cursor', async ({ person, server }) => {
  const author = await server.newUser('+999007770503')
  const reader = await server.newUser('+999007770504')
  await follow(reader.api, author.userId)
  const { page } = await person({ as: reader })
  await page.clock.install()
  const busy = { message: 'Busy', path: ['me'], extensions: { code: 'UNAVAILABLE' } }
  let asked = 0
  await page.route('**/graphql', (route) => {
    const { operationName } = route.request().postDataJSON()
    if (operationName !== 'FeedStart' || ++asked > 2) return route.continue()
    return route.fulfill({ json: { data: { me: null }, errors: [busy] } })
  })
  await page.goto('/settings')
  await expect.poll(() => asked).toBe(1)
  // Skips any backoff.
  await expect
    .poll(async () => {
      await page.clock.fastForward(60_000)
      return asked
    })
    .toBe(3)
  await expect(page.locator('html')).toHaveAttribute('data-socket', 'open')
  await publishNote(author.api, server.shop, 'Announced')
  await expect(page.getByRole('link', { name: /Feed.*1 new note/ })).toBeVisible()
})

test('a partly reloaded feed misses no note', async ({ person, server }) => {
  const author = await server.newUser('+999007770505')
  const reader = await server.newUser('+999007770506')
  await follow(reader.api, author.userId)
  await publishNote(author.api, server.shop, 'Before')
  const { page } = await person({ as: reader })
  await page.clock.install()
  let end!: () => void
  await page.routeWebSocket('**/graphql', (socket) => {
    const there = socket.connectToServer()
    let id = ''
    socket.onMessage((text) => {
      const said = JSON.parse(String(text))
      if (said.type === 'subscribe') ({ id } = said)
      there.send(text)
    })
    const busy = { message: 'Busy', extensions: { code: 'UNAVAILABLE' } }
    end = () => socket.send(JSON.stringify({ id, type: 'error', payload: [busy] }))
  })
  await page.goto('/feed')
  await expect(page.locator('[data-feed-ready]')).toBeAttached()
  await expect(page.getByRole('article')).toHaveCount(1)

  // The updates end, the page fails to reload, and the start cursor arrives late.
  const busy = { message: 'Busy', path: ['me'], extensions: { code: 'UNAVAILABLE' } }
  let refused = 0
  let begin!: () => void
  const late = new Promise<void>((resolve) => (begin = resolve))
  await page.route('**/graphql', async (route) => {
    const { operationName } = route.request().postDataJSON()
    if (operationName === 'Feed') {
      refused++
      return route.fulfill({ json: { data: { me: null }, errors: [busy] } })
    }
    if (operationName === 'FeedStart') await late
    return route.continue()
  })
  end()
  await expect
    .poll(async () => {
      await page.clock.fastForward(5000)
      return refused
    })
    .toBeGreaterThan(0)
  await publishNote(author.api, server.shop, 'Between')
  begin()
  await expect(page.getByRole('button', { name: '1 new note' })).toBeVisible()
})

test('a late response shows but does not end offline', async ({ person, server }) => {
  const { page, context, expectNetworkErrors } = await person()
  await page.goto(`/shops/${server.shop}`)
  const name = page.getByRole('heading', { level: 1 })
  const { api } = await server.login('MERCHANT')
  const before = await shopName(api, server.shop)
  await expect(name).toHaveText(before)

  await renameShop(api, server.shop, 'Renamed a moment before')
  const held: (() => void)[] = []
  await page.route('**/graphql', async (route) => {
    const response = await route.fetch()
    await new Promise<void>((resolve) => held.push(resolve))
    await route.fulfill({ response })
  })
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
  // The shop, its notes and its neighbours.
  await expect.poll(() => held.length).toBeGreaterThan(1)
  expectNetworkErrors()
  await context.setOffline(true)
  await expect(page.getByText('You’re offline. Content may be out of date.')).toBeVisible()
  for (const release of held) release()
  await expect(name).toHaveText('Renamed a moment before')
  await expect(page.locator('html')).toHaveAttribute('data-network', 'offline')
  await renameShop(api, server.shop, before)
})

test('a killed server shows a banner until it returns', async ({ person, server }) => {
  const { page, expectNetworkErrors } = await person({ as: 'CUSTOMER' })
  await page.goto('/')
  await expect(page.getByRole('region', { name: 'Nearby' })).toBeVisible()
  await expect(page.locator('html')).toHaveAttribute('data-socket', 'open')
  expectNetworkErrors()
  await server.kill()
  await expect(page.getByText('Can’t reach Tandian. Retrying…')).toBeVisible()
  await page.getByRole('link', { name: 'Search shops' }).click()
  await expect(page.getByRole('main').getByLabel('Loading')).toBeVisible()
  await server.start()
  await expect(page.getByRole('heading', { level: 1, name: 'Search' })).toBeVisible()
  await expect(page.getByText('Can’t reach Tandian.')).toHaveCount(0)
  await expect(page.getByRole('article').first()).toBeVisible()
  await expect(page.locator('html')).toHaveAttribute('data-socket', 'open')
})

test('an outdated tab reloads once', async ({ person }) => {
  const { page, expectNetworkErrors } = await person()
  await page.goto('/')
  await expect(page.getByRole('region', { name: 'Nearby' })).toBeVisible()
  expectNetworkErrors()
  // The old build's chunks are gone. After the reload the new ones exist.
  let loads = 0
  page.on('load', () => {
    loads++
    void page.unroute('**/assets/SignIn-*')
  })
  await page.route('**/assets/SignIn-*', (route) => route.fulfill({ status: 404, body: '' }))
  await page.getByRole('link', { name: 'Me', exact: true }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'Sign in' })).toBeVisible()
  expect(loads).toBe(1)
})

test('a missing chunk shows an error without a loop', async ({ person }) => {
  const { page, expectNetworkErrors, expectConsole } = await person()
  await page.goto('/')
  expectNetworkErrors()
  expectConsole(/Unable to preload|Failed to fetch dynamically/, 'what React says of it')
  let loads = 0
  page.on('load', () => loads++)
  await page.route('**/assets/SignIn-*', (route) => route.fulfill({ status: 404, body: '' }))
  await page.getByRole('link', { name: 'Me', exact: true }).click()
  await expect(page.getByText('We couldn’t show this page.')).toBeVisible()
  expect(loads).toBe(1)
})

test('unknown hashes are resent as text', async ({ person }) => {
  const { page, expectConsole } = await person()
  expectConsole(/400/, 'the hash that is not known')
  let asked = 0
  // A server of another build knows none of the hashes.
  await page.route('**/graphql', async (route) => {
    const body = route.request().postDataJSON()
    if (body.query === undefined) {
      asked++
      const errors = [
        { message: 'PersistedQueryNotFound', extensions: { code: 'PERSISTED_QUERY_NOT_FOUND' } },
      ]
      return route.fulfill({
        status: 400,
        json: { errors },
        contentType: 'application/graphql-response+json',
      })
    }
    return route.continue()
  })
  await page.goto('/')
  await expect(
    page.getByRole('region', { name: 'Nearby' }).getByRole('article').first(),
  ).toBeVisible()
  expect(asked).toBeGreaterThan(0)
})
