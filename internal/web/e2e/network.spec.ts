import { expect, test } from './fixtures.ts'

test('a page without a network says so, and asks again what it shows when there is one', async ({
  person,
  server,
}) => {
  const { page, context, expectNetworkErrors } = await person()
  await page.goto(`/shops/${server.shop}`)
  const name = page.getByRole('heading', { level: 1 })
  const { ask } = await server.login('MERCHANT')
  const { shop } = await ask<{ shop: { name: string } }>(
    `query ($id: ID!) { shop(id: $id) { name } }`,
    { id: server.shop },
  )
  const before = shop.name
  await expect(name).toHaveText(before)

  expectNetworkErrors()
  await context.setOffline(true)
  await expect(page.getByText('You are offline. What you see may be old.')).toBeVisible()
  const rename = (to: string) =>
    ask(
      `mutation ($id: ID!, $name: String!) { updateShop(input: {id: $id, name: $name}) { userErrors { message } } }`,
      {
        id: server.shop,
        name: to,
      },
    )
  await rename('Renamed while nobody looked')
  await expect(name).toHaveText(before)
  await context.setOffline(false)
  // Neither the banner says so any more, nor a part that was being asked for as the network went.
  await expect(page.getByText('You are offline.')).toHaveCount(0)
  await expect(name).toHaveText('Renamed while nobody looked')
  await rename(before)
})

test('a server that is killed is told of, and its return is noticed by itself', async ({
  person,
  server,
}) => {
  const { page, expectNetworkErrors } = await person({ as: 'CUSTOMER' })
  await page.goto('/')
  await expect(page.getByRole('region', { name: 'Nearby' })).toBeVisible()
  await expect(page.locator('html')).toHaveAttribute('data-socket', 'open')
  expectNetworkErrors()
  await server.kill()
  await expect(page.getByText('The server does not answer.')).toBeVisible()
  await page.getByRole('link', { name: 'Search shops and streets' }).click()
  await expect(page.getByRole('main').getByLabel('Loading')).toBeVisible()
  await server.start()
  await expect(page.getByRole('heading', { level: 1, name: 'Search' })).toBeVisible()
  await expect(page.getByText('The server does not answer.').first()).toBeHidden()
  await expect(page.getByRole('article').first()).toBeVisible()
  await expect(page.locator('html')).toHaveAttribute('data-socket', 'open')
})

test('a tab that is older than the server reloads once, and shows what was wanted', async ({
  person,
}) => {
  const { page, expectNetworkErrors } = await person()
  await page.goto('/')
  await expect(page.getByRole('region', { name: 'Nearby' })).toBeVisible()
  expectNetworkErrors()
  // The parts of the tab's build are gone; those of the new one are there after the reload.
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

test('a part that stays away ends in words, and not in a loop', async ({ person }) => {
  const { page, expectNetworkErrors, expectConsole } = await person()
  await page.goto('/')
  expectNetworkErrors()
  expectConsole(/Unable to preload|Failed to fetch dynamically/, 'what React says of it')
  let loads = 0
  page.on('load', () => loads++)
  await page.route('**/assets/SignIn-*', (route) => route.fulfill({ status: 404, body: '' }))
  await page.getByRole('link', { name: 'Me', exact: true }).click()
  await expect(page.getByText('This screen could not be shown.')).toBeVisible()
  expect(loads).toBe(1)
})

test('a server of another build is sent the text of what it does not know', async ({ person }) => {
  const { page, expectConsole } = await person()
  expectConsole(/400/, 'the hash that is not known')
  let asked = 0
  // An older or newer server knows none of the hashes.
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
