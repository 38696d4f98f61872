import type { WebSocketRoute } from '@playwright/test'

import { expect, test, type Page } from './fixtures.ts'
import { cancelOrder, flashSale, placeOrder, voucher } from './testdata.ts'

const state = (page: Page) => page.locator('[data-status]').first()

test('two buyers race for the last item', async ({ person, server }) => {
  const merchant = await server.login('MERCHANT')
  const sale = await flashSale(merchant.api, server.shop, 1)
  const ann = await person({ as: await server.newUser('+999007770201') })
  const bob = await person({ as: await server.newUser('+999007770202'), device: 'desktop' })
  const pages = [ann.page, bob.page]
  await Promise.all(
    pages.map(async (page) => {
      await page.goto(`/sales/${sale}`)
      await expect(page.locator('[data-stock="1"]')).toBeVisible()
    }),
  )
  // Both orders are sent only after both clicks.
  let pressed = 0
  let go!: () => void
  const both = new Promise<void>((resolve) => (go = resolve))
  for (const page of pages) {
    await page.route('**/graphql', async (route) => {
      if (isOrder(route)) {
        if (++pressed === 2) go()
        await both
      }
      return route.continue()
    })
  }
  const answers = pages.map((page) => page.waitForResponse(isOrder))
  await Promise.all(pages.map((page) => page.getByRole('button', { name: 'Buy now' }).click()))
  const orders = await Promise.all(
    answers.map(async (answer) => (await (await answer).json()).data.orderVoucher),
  )
  const won = orders.findIndex(({ order }) => order !== null)
  const lost = 1 - won
  expect(orders[lost].order).toBeNull()
  expect(orders[lost].userErrors.map((e: { code: string }) => e.code)).toEqual(['OUT_OF_STOCK'])

  // The winner's order is accepted before it is stored, and changes status without a reload.
  expect(orders[won].order.status).toBe('QUEUED')
  const winner = pages[won]!
  await expect(winner).toHaveURL(/\/orders\//)
  await expect(state(winner)).toHaveAttribute('data-status', 'UNPAID')

  // The other sees that it is sold out and cannot be bought.
  const loser = pages[lost]!
  await expect(loser.locator('[data-stock="0"]')).toBeVisible()
  await expect(loser.getByRole('button', { name: 'Buy now' })).toHaveCount(0)
  await expect(loser.locator('[data-phase="SOLD_OUT"]')).toBeVisible()

  await winner.getByRole('button', { name: /^Pay/ }).click()
  await expect(state(winner)).toHaveAttribute('data-status', 'PAID')
  await winner.goto(`/sales/${sale}`)
  await expect(winner.getByText('You already bought this.')).toBeVisible()

  // The merchant redeems it by its code. The customer's page updates.
  await winner.getByRole('link', { name: 'View order' }).click()
  const number = await winner.locator('[data-number]').getAttribute('data-number')
  const shop = await person({ as: 'MERCHANT' })
  await shop.page.goto('/merchant/redeem')
  await shop.page.getByLabel('Voucher code').fill(number!)
  await shop.page.getByRole('button', { name: 'Look up' }).click()
  await shop.page.getByRole('button', { name: 'Redeem', exact: true }).click()
  await expect(shop.page.locator(`[data-redeemed="${number}"]`)).toBeVisible()
  await expect(state(winner)).toHaveAttribute('data-status', 'USED')

  // The customer can dispute the redemption once.
  await winner.getByRole('button', { name: 'I didn’t use this' }).click()
  await winner.getByRole('button', { name: 'Report', exact: true }).click()
  await expect(winner.getByText('You reported that you didn’t use this.')).toBeVisible()
  await expect(winner.getByRole('button', { name: 'I didn’t use this' })).toHaveCount(0)

  // A second redemption is rejected with a message.
  await shop.page.getByLabel('Voucher code').fill(number!)
  await shop.page.getByRole('button', { name: 'Look up' }).click()
  await expect(shop.page.locator('[data-refused="USED"]')).toBeVisible()
})

test('a lost response buys only one voucher', async ({ person, server }) => {
  const merchant = await server.login('MERCHANT')
  const customer = await server.newUser('+999007770203')
  const sale = await flashSale(merchant.api, server.shop, 5)
  const { page, expectNetworkErrors } = await person({ as: customer })
  expectNetworkErrors()
  await page.goto(`/sales/${sale}`)
  const keys: string[] = []
  // The server processes the order, but the response is lost.
  let dropResponses = true
  await page.route('**/graphql', async (route) => {
    if (!isOrder(route) || !dropResponses) return route.continue()
    keys.push(route.request().postDataJSON().variables.idempotencyKey)
    await route.fetch().catch(() => undefined) // the page may be closed
    return route.abort().catch(() => undefined)
  })
  await page.getByRole('button', { name: 'Buy now' }).click()
  await expect(page.getByText('We’re not sure your order went through.')).toBeVisible()
  await page.reload()
  // Automatically, with the same key.
  await expect.poll(() => keys.length).toBeGreaterThan(1)
  dropResponses = false
  await page.reload()
  await expect(page).toHaveURL(/\/orders\//)
  await expect(state(page)).toHaveAttribute('data-status', 'UNPAID')
  expect(new Set(keys).size).toBe(1)
  // An attempt that Redis answered too late can leave a failed order. It costs nothing.
  const { me, voucher: bought } = await customer.api(
    `query ($id: ID!) {
      me { orders { edges { node { status } } } }
      voucher(id: $id) { ... on FlashVoucher { sale { stock } } }
    }`,
    { id: sale },
  )
  const statuses: string[] = me.orders.edges.map((e: { node: { status: string } }) => e.node.status)
  expect(statuses.filter((status) => status !== 'FAILED')).toEqual(['UNPAID'])
  expect(bought.sale.stock).toBe(4)

  // The intent is gone: the next purchase gets its own key.
  const left = await page.evaluate(() =>
    Object.keys(localStorage).filter((k) => k.includes('intent')),
  )
  expect(left).toEqual([])
})

test('two tabs share one purchase', async ({ person, server }) => {
  const merchant = await server.login('MERCHANT')
  const customer = await server.newUser('+999007770205')
  const path = `/vouchers/${await voucher(merchant.api, server.shop)}`
  const { page, context } = await person({ as: customer })
  await page.goto(path)
  await page.route('**/graphql', async (route) => {
    if (!isOrder(route)) return route.continue()
    const response = await route.fetch()
    const errors = [{ message: 'not now', extensions: { code: 'UNAVAILABLE' } }]
    return route.fulfill({ response, json: { errors } })
  })
  await page.getByRole('button', { name: 'Buy now' }).click()
  await expect(page.getByText('We’re not sure your order went through.')).toBeVisible()
  // The other tab resumes it automatically.
  const other = await context.newPage()
  await other.goto(path)
  await expect(other).toHaveURL(/\/orders\//)

  await page.unrouteAll({ behavior: 'wait' })
  await page.getByRole('button', { name: 'Try again' }).click()
  await expect(page).toHaveURL(other.url())
  const { me } = await customer.api(`{ me { orders { edges { node { status } } } } }`)
  expect(me.orders.edges).toHaveLength(1)
})

test('an order refetches on resume', async ({ person, server, network }) => {
  const merchant = await server.login('MERCHANT')
  const customer = await server.newUser('+999007770204')
  const sale = await flashSale(merchant.api, server.shop, 5)
  const { page, expectNetworkErrors } = await person({ as: customer, url: network.url })
  await page.goto(`/sales/${sale}`)
  await page.getByRole('button', { name: 'Buy now' }).click()
  await expect(state(page)).toHaveAttribute('data-status', 'UNPAID')
  const id = new URL(page.url()).pathname.split('/').at(-1)!

  expectNetworkErrors()
  await network.cut()
  await expect(page.locator('html')).toHaveAttribute('data-network', 'unreachable')
  await customer.api(
    `mutation ($id: ID!) { payOrder(orderId: $id, method: ALIPAY) { userErrors { message } } }`,
    { id },
  )
  await expect(state(page)).toHaveAttribute('data-status', 'UNPAID')
  await network.restore()
  await expect(state(page)).toHaveAttribute('data-status', 'PAID')

  // A page that becomes visible refetches, whatever the socket has delivered.
  const asked = page.waitForRequest(
    (r) => r.url().endsWith('/graphql') && r.postDataJSON()?.operationName === 'Order',
  )
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
  await asked
})

test('a rejected payment can be retried', async ({ person, server }) => {
  const merchant = await server.login('MERCHANT')
  const { api, ...customer } = await server.newUser('+999007770210')
  const id = await placeOrder(api, await voucher(merchant.api, server.shop))
  const { page } = await person({ as: customer })
  // Simulates a provider that rejects immediately.
  let unpaid: object
  await page.route('**/graphql', async (route) => {
    const { operationName } = route.request().postDataJSON()
    if (operationName === 'PayOrder') {
      const refusal = {
        __typename: 'UserError',
        code: 'ORDER_NOT_PAYABLE',
        message: '',
        field: null,
      }
      const payOrder = { __typename: 'PayOrderPayload', order: unpaid, userErrors: [refusal] }
      return route.fulfill({ json: { data: { payOrder } } })
    }
    const response = await route.fetch()
    if (operationName === 'Order') unpaid = (await response.json()).data.order
    return route.fulfill({ response })
  })
  await page.goto(`/orders/${id}`)
  const pay = page.getByRole('button', { name: /^Pay/ })
  await pay.click()
  await expect(page.getByText('Your payment didn’t go through.')).toBeVisible()
  await expect(page.getByText('This order can no longer be paid.')).toHaveCount(0)
  await page.unrouteAll({ behavior: 'wait' })
  await pay.click()
  await expect(state(page)).toHaveAttribute('data-status', 'PAID')
})

test('Back shows changed orders in the list', async ({ person, server }) => {
  const merchant = await server.login('MERCHANT')
  const { api, ...customer } = await server.newUser('+999007770206')
  const bought = await voucher(merchant.api, server.shop)
  const [one, other] = [await placeOrder(api, bought), await placeOrder(api, bought)]
  const { page } = await person({ as: customer })
  await page.goto('/orders')
  const card = page.locator(`[data-order="${one}"]`)
  await expect(card).toHaveAttribute('data-status', 'UNPAID')
  await page.locator(`[data-order="${other}"]`).getByRole('link').click()
  await expect(page.getByRole('button', { name: /^Pay/ })).toBeVisible()
  await cancelOrder(api, one)
  await page.goBack()
  await expect(card).toHaveAttribute('data-status', 'CANCELLED')
})

test('the order list survives breaks of its updates', async ({ person, server }) => {
  const merchant = await server.login('MERCHANT')
  const { api, ...customer } = await server.newUser('+999007770207')
  const bought = await voucher(merchant.api, server.shop)
  const [one, other] = [await placeOrder(api, bought), await placeOrder(api, bought)]
  const { page } = await person({ as: customer })
  const sockets: WebSocketRoute[] = []
  const follows: string[] = [] // ids of the subscriptions to all orders
  let hold: Promise<void> | undefined
  await page.routeWebSocket('**/graphql', async (socket) => {
    sockets.push(socket)
    await hold
    const up = socket.connectToServer()
    socket.onMessage((message) => {
      const { id, payload } = JSON.parse(String(message))
      if (payload?.query?.includes('subscription OrderUpdates')) follows.push(id)
      up.send(message)
    })
  })
  const status = (id: string) => page.locator(`[data-order="${id}"]`)
  await page.goto('/orders')
  await expect(status(one)).toHaveAttribute('data-status', 'UNPAID')
  await expect.poll(() => follows.length).toBe(1)

  // The server closes old sockets but still answers requests.
  let release!: () => void
  hold = new Promise((resolve) => (release = resolve))
  await sockets[0]!.close({ code: 1012, reason: 'the connection is too old' })
  await expect.poll(() => sockets.length).toBe(2)
  await cancelOrder(api, one)
  release()
  await expect(status(one)).toHaveAttribute('data-status', 'CANCELLED')
  await expect.poll(() => follows.length).toBe(2)

  sockets[1]!.send(JSON.stringify({ id: follows[1], type: 'complete' }))
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
  await expect.poll(() => follows.length).toBe(3)
  await cancelOrder(api, other)
  await expect(status(other)).toHaveAttribute('data-status', 'CANCELLED')
})

test('a sale reopens when stock returns', async ({ person, server }) => {
  const merchant = await server.login('MERCHANT')
  const sale = await flashSale(merchant.api, server.shop, 1)
  const { page } = await person({ as: await server.newUser('+999007770208') })
  // No updates arrive: the page learns of the sell-out from its own attempt.
  await page.routeWebSocket('**/graphql', () => undefined)
  await page.goto(`/sales/${sale}`)
  const buy = page.getByRole('button', { name: 'Buy now' })
  await expect(buy).toBeVisible()
  await placeOrder((await server.newUser('+999007770209')).api, sale)
  await buy.click()
  await expect(page.locator('[data-refusal="OUT_OF_STOCK"]')).toBeVisible()
  await expect(page.locator('[data-phase="SOLD_OUT"]')).toBeVisible()
  await expect(page.getByText('Sold out.', { exact: true })).toBeAttached()

  await merchant.api(
    `mutation ($id: ID!) { updateFlashVoucher(input: {id: $id, stockDelta: 1}) { userErrors { message } } }`,
    { id: sale },
  )
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
  await expect(buy).toBeVisible()
  await expect(page.locator('[data-refusal]')).toHaveCount(0)
  await expect(page.getByText('Sold out')).toHaveCount(0)
})

test('signing in leads back to the sale', async ({ person, server }) => {
  const merchant = await server.login('MERCHANT')
  const sale = await flashSale(merchant.api, server.shop, 5)
  const { page } = await person()
  await page.goto(`/sales/${sale}`)
  await page.getByRole('link', { name: 'Sign in to buy' }).click()
  await page.getByRole('button', { name: 'Use a password instead' }).click()
  const { phone, password } = server.as('CUSTOMER')
  await page.getByLabel('Phone').fill(phone)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await expect(page).toHaveURL(new RegExp(`/sales/${sale}$`))
  await expect(page.getByRole('button', { name: 'Buy now' })).toBeVisible()
})

test('a sale opens by the server’s clock', async ({ person, server }) => {
  const merchant = await server.login('MERCHANT')
  const sale = await flashSale(merchant.api, server.shop, 5)
  const { page } = await person()
  // Two hours fast: by this clock the sale is over.
  await page.addInitScript(() => {
    const real = Date.now
    Date.now = () => real() + 2 * 3_600_000
  })
  await page.goto(`/sales/${sale}`)
  await expect(page.locator('[data-phase="OPEN"]')).toBeVisible()
  await expect(page.getByRole('link', { name: 'Sign in to buy' })).toBeVisible()
})

function isOrder(of: { request: () => { postDataJSON: () => any; url: () => string } }): boolean {
  const request = of.request()
  return (
    request.url().endsWith('/graphql') && request.postDataJSON()?.operationName === 'OrderVoucher'
  )
}
