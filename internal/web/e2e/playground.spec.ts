import type { Locator } from '@playwright/test'

import { a11y, expect, shot, test, type Page } from './fixtures.ts'

/** Sets the text of a CodeMirror editor. */
async function write(editor: Locator, text: string): Promise<void> {
  await editor.locator('.CodeMirror').evaluate((node, value) => {
    ;(node as unknown as { CodeMirror: { setValue(v: string): void } }).CodeMirror.setValue(value)
  }, text)
}

/** Enters a named query and waits until GraphiQL has parsed it and named the tab. */
async function enterQuery(page: Page, name: string, text: string): Promise<void> {
  await write(query(page), text)
  await expect(page.getByRole('tab', { name })).toBeVisible()
}

const query = (page: Page) => page.getByRole('region', { name: 'Query Editor' })
const answer = (page: Page) => page.getByRole('region', { name: 'Result Window' })
const signedIn = (page: Page) => page.getByRole('status', { name: 'Account' })

/** Runs the query, or one of several operations from GraphiQL's menu. */
async function run(page: Page, operation?: string): Promise<void> {
  const execute = page.getByRole('button', { name: /Execute query/ })
  if (!operation) return execute.click()
  await expect(execute).toHaveAttribute('aria-haspopup', 'menu')
  await execute.click()
  await page.getByRole('menuitem', { name: operation }).click()
}

/** Opens the playground and waits for the schema. */
async function open(page: Page): Promise<void> {
  await page.goto('/playground')
  await expect(query(page)).toContainText('ShopsNearby')
  await expect(page.getByRole('button', { name: 'Re-fetch GraphQL schema' })).toBeEnabled()
}

test('a visitor runs the first query', async ({ person }) => {
  const { page } = await person({ device: 'desktop' })
  await open(page)
  await expect(page).toHaveTitle('Tandian playground')
  await run(page)
  await expect(answer(page)).toContainText('"distance"')
  await shot(page, 'playground')
})

test('an example opens in a new tab by keyboard', async ({ person }) => {
  const { page } = await person({ device: 'desktop' })
  await open(page)
  const examples = page.getByLabel('Example')
  await expect(examples.getByRole('option')).toHaveCount(13)
  await examples.focus()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await expect(query(page)).toContainText('query NearestFirst')
  await expect(page.getByRole('tab')).toHaveCount(2)
  await run(page, 'NearestFirst')
  await expect(answer(page)).toContainText('"distance"')

  await page.getByRole('tab').first().click()
  await expect(query(page)).toContainText('ShopsNearby')

  await examples.selectOption('Admin')
  await page.getByRole('button', { name: 'Open in a new tab' }).click()
  await expect(page.getByRole('tab')).toHaveCount(3)
  await expect(page.getByRole('region', { name: 'Variables' })).toContainText(/"from": "\d{4}-/)
})

test('the explorer shows the schema', async ({ person }) => {
  const { page } = await person({ device: 'desktop', colorScheme: 'dark' })
  await open(page)
  await page.getByRole('button', { name: 'Show GraphiQL Explorer' }).click()
  await expect(page.locator('.graphiql-plugin')).toContainText('hotNotes')
  await shot(page, 'playground-dark')
})

test('a typed header overrides the session', async ({ person, server }) => {
  const { token } = await server.login('CUSTOMER')
  const { page } = await person({ device: 'desktop', as: 'MERCHANT' })
  await open(page)
  await expect(signedIn(page)).toHaveText('Demo merchant, merchant')
  await enterQuery(page, 'Me', 'query Me { me { nickname } }')
  await run(page)
  await expect(answer(page)).toContainText('Demo merchant')

  await page.getByRole('button', { name: 'Headers' }).click()
  const headers = page.locator('.graphiql-editor-tool .graphiql-editor:not(.hidden) .CodeMirror')
  await headers.evaluate(
    (node, value) => {
      ;(node as unknown as { CodeMirror: { setValue(v: string): void } }).CodeMirror.setValue(value)
    },
    JSON.stringify({ authorization: `Bearer ${token}` }),
  )
  await run(page)
  await expect(answer(page)).toContainText('Demo customer')
})

test('an unverified session is not adopted', async ({ person }) => {
  const { page, expectNetworkErrors } = await person({ device: 'desktop', as: 'MERCHANT' })
  expectNetworkErrors()
  await page.route('**/graphql', (route) =>
    route.request().postData()?.includes('WhoIsSignedIn') ? route.abort() : route.continue(),
  )
  await open(page)
  await expect(page.getByRole('button', { name: /Sign in as demo/ }).first()).toBeVisible()
  await expect(signedIn(page)).toHaveText('Not signed in')
  await enterQuery(page, 'Me', 'query Me { me { nickname } }')
  await run(page)
  await expect(answer(page)).toContainText('"me": null')
})

test('a subscription reports sale changes', async ({ person, server }) => {
  const merchant = await server.login('MERCHANT')
  const hour = 3600_000
  const { createFlashVoucher } = await merchant.api(
    `mutation ($input: CreateFlashVoucherInput!) { createFlashVoucher(input: $input) { voucher { id } userErrors { message } } }`,
    {
      input: {
        shopId: server.shop,
        title: 'Soup at noon',
        payValue: 1000,
        faceValue: 2000,
        stock: 40,
        beginsAt: new Date(Date.now() - hour).toISOString(),
        endsAt: new Date(Date.now() + hour).toISOString(),
      },
    },
  )
  const { id } = createFlashVoucher.voucher
  const { page } = await person({ device: 'desktop' })
  await open(page)
  const socket = page.waitForEvent('websocket')
  await enterQuery(
    page,
    'Stock',
    `subscription Stock { stockUpdates(voucherId: "${id}") { stock phase } }`,
  )
  await run(page)
  expect((await socket).url()).toContain('/graphql')
  await expect(answer(page)).toContainText('"stock": 40')
  await merchant.api(
    `mutation ($input: UpdateFlashVoucherInput!) { updateFlashVoucher(input: $input) { userErrors { message } } }`,
    { input: { id, stockDelta: 7 } },
  )
  await expect(answer(page)).toContainText('"stock": 47')
  await page.getByRole('button', { name: /Stop query/ }).click()
})

test('requests and subscriptions use the signed-in account', async ({ person }) => {
  const { page } = await person({ device: 'desktop' })
  await open(page)
  await expect(signedIn(page)).toHaveText('Not signed in')
  await page.getByRole('button', { name: 'Sign in as demo customer' }).click()
  await expect(signedIn(page)).toHaveText('Demo customer, customer')

  await enterQuery(page, 'Me', 'query Me { me { nickname role } }')
  await run(page)
  await expect(answer(page)).toContainText('"CUSTOMER"')
  await enterQuery(page, 'Feed', 'subscription Feed { feedUpdates { __typename } }')
  await run(page)
  await expect(answer(page)).toContainText('FeedReady')
  await page.getByRole('button', { name: /Stop query/ }).click()

  await page.getByRole('button', { name: 'Sign out' }).click()
  await expect(signedIn(page)).toHaveText('Not signed in')
  await enterQuery(page, 'AndNow', 'query AndNow { me { nickname role } }')
  await run(page)
  await expect(answer(page)).toContainText('"me": null')
  await expect(page.getByRole('button', { name: /Sign in as demo/ })).toHaveCount(3)
})

for (const device of ['phone', 'desktop'] as const) {
  for (const colorScheme of ['light', 'dark'] as const) {
    test(`axe finds no violation on a ${colorScheme} ${device}`, async ({ person }) => {
      const { page } = await person({ device, colorScheme })
      await open(page)
      await a11y(page, ['#root']) // all in there is GraphiQL's
      await shot(page, `playground-${device}-${colorScheme}`)
    })
  }
}
