import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { a11y, expect, test, type Page } from './fixtures.ts'
import { picture } from './pictures.ts'
import { changeResponses, placeOrder, voucher } from './testdata.ts'

const minute = 60_000 // ms

/** Formats a time for a datetime-local field, in the browsers' time zone. */
const toLocalInput = (at: number) => new Date(at + 8 * 60 * minute).toISOString().slice(0, 16)

/** Waits for a chart, opens its table and returns the rows. */
async function openChartTable(page: Page, title: string) {
  const chart = page.locator('figure').and(page.locator(`[data-chart^="${title}"]`))
  await expect(chart.getByRole('img')).toHaveAttribute('data-drawn', '30')
  await expect(chart.locator('canvas')).toBeVisible()
  const rows = chart.locator('tbody tr')
  const table = chart.locator('table')
  if (!(await table.isVisible())) await chart.getByText('Show as table').click()
  await expect(table).toBeVisible()
  await expect(rows).toHaveCount(30)
  return rows
}

test('a merchant creates a shop, sells vouchers and sees insights', async ({ person, server }) => {
  test.setTimeout(240_000)
  const { page } = await person({ as: 'MERCHANT', device: 'desktop' })
  const buyer = await server.newUser('+999007770411')
  const customer = (await person({ as: buyer })).page

  // The shop. The form first reports missing values at their fields.
  await page.goto('/merchant')
  await page.getByRole('link', { name: 'New shop' }).click()
  const name = page.getByLabel('Shop name')
  await page.getByRole('button', { name: 'Create shop' }).click()
  await expect(name).toHaveAttribute('aria-invalid', 'true')
  await expect(name).toBeFocused()
  await name.fill('Willow Steam House 柳记')
  await page.getByLabel('Category').selectOption({ label: 'Restaurants' })
  await page.getByLabel('Address').fill('12 Willow Lane')
  await page.getByLabel('Neighbourhood').fill('Old Bell')
  await page.getByLabel('Latitude').fill('30.2451')
  await page.getByLabel('Longitude').fill('120.1513')
  await page.getByLabel('Average spend per person (¥)').fill('45.50')
  await page.getByLabel('Opening hours').fill('07:00–20:00')
  await page.locator('input[data-input=pictures]').setInputFiles({
    name: 'front.png',
    mimeType: 'image/png',
    buffer: picture(900, 600),
  })
  await expect(page.getByRole('img', { name: 'Photo 1' })).toBeVisible()
  await page.getByRole('button', { name: 'Create shop' }).click()
  await expect(
    page.getByRole('heading', { level: 1, name: 'Willow Steam House 柳记' }),
  ).toBeVisible()
  const shop = new URL(page.url()).pathname.split('/').at(-1)!
  await customer.goto(`/shops/${shop}`)
  await expect(customer.getByRole('heading', { level: 1, name: /^Willow/ })).toBeVisible()
  await expect(customer.getByText('¥45.50')).toBeVisible()
  await expect
    .poll(() =>
      customer
        .locator('main img')
        .first()
        .evaluate((e) => (e as HTMLImageElement).naturalWidth),
    )
    .toBeGreaterThan(100)

  // A regular voucher.
  await page.getByRole('link', { name: 'New voucher' }).click()
  await page.getByRole('radio', { name: /^Regular voucher/ }).check()
  await page.getByLabel('Title', { exact: true }).fill('Fifty for forty')
  await page.getByLabel('Price (¥)').fill('60')
  await page.getByLabel('Value (¥)').fill('50')
  await page.getByRole('button', { name: 'Create voucher' }).click()
  await expect(page.getByLabel('Value (¥)')).toHaveAttribute('aria-invalid', 'true')
  await page.getByLabel('Price (¥)').fill('40')
  await page.getByRole('button', { name: 'Create voucher' }).click()
  const ordinary = page.getByRole('article').filter({ hasText: 'Fifty for forty' })
  await expect(ordinary).toHaveAttribute('data-status', 'ON_SALE')
  await expect(ordinary).toContainText('¥40')

  // An open flash sale.
  await page.getByRole('link', { name: 'New voucher' }).click()
  await page.getByRole('radio', { name: /^Flash sale/ }).check()
  await page.getByLabel('Title', { exact: true }).fill('Steamed buns for two')
  await page.getByLabel('Price (¥)').fill('12.50')
  await page.getByLabel('Value (¥)').fill('30')
  await page.getByRole('textbox', { name: 'Stock' }).fill('3')
  const now = Date.now()
  await page.getByLabel('Starts').fill(toLocalInput(now + 60 * minute))
  await page.getByLabel('Ends').fill(toLocalInput(now))
  await page.getByRole('button', { name: 'Create voucher' }).click()
  await expect(page.getByLabel('Ends')).toHaveAttribute('aria-invalid', 'true')
  await page.getByLabel('Starts').fill(toLocalInput(now - minute))
  await page.getByLabel('Ends').fill(toLocalInput(now + 60 * minute))
  await page.getByRole('button', { name: 'Create voucher' }).click()
  const flash = page.getByRole('article').filter({ hasText: 'Steamed buns for two' })
  await expect(flash.locator('[data-stock="3"]')).toBeVisible()
  const sale = (await flash.getAttribute('data-voucher'))!

  // Both can be bought, and stock changes appear live.
  await customer.reload()
  await expect(customer.getByRole('link', { name: 'Fifty for forty' })).toBeVisible()
  await customer.goto(`/sales/${sale}`)
  await expect(customer.locator('[data-phase="OPEN"]')).toBeVisible()
  await expect(customer.locator('[data-stock="3"]')).toBeVisible()
  await page.getByRole('link', { name: 'Edit Steamed buns for two' }).click()
  const delta = page.getByLabel('Adjust stock')
  await delta.fill('-4')
  await page.getByRole('button', { name: 'Save' }).click()
  await expect(page.getByText('Not enough unsold stock.')).toBeVisible()
  await expect(delta).toHaveAttribute('aria-invalid', 'true')
  await delta.fill('2')
  await page.getByRole('button', { name: 'Save' }).click()
  await expect(flash.locator('[data-stock="5"]')).toBeVisible()
  await expect(customer.locator('[data-stock="5"]')).toBeVisible()

  await customer.getByRole('button', { name: 'Buy now' }).click()
  await expect(customer.locator('[data-status="UNPAID"]').first()).toBeVisible()
  await customer.getByRole('button', { name: /^Pay/ }).click()
  await expect(customer.locator('[data-status="PAID"]').first()).toBeVisible()
  const number = await customer.locator('[data-number]').getAttribute('data-number')

  // An unavailable voucher cannot be bought.
  await page.reload()
  await expect(flash.locator('[data-stock="4"]')).toBeVisible()
  const other = (await person({ as: 'CUSTOMER' })).page
  await other.goto(`/sales/${sale}`)
  await expect(other.getByRole('button', { name: 'Buy now' })).toBeVisible()
  await page.getByRole('button', { name: 'Stop selling: Steamed buns for two' }).click()
  await expect(flash).toHaveAttribute('data-status', 'OFF_SALE')
  await other.reload()
  await expect(other.locator('[data-phase="OFF_SALE"]')).toBeVisible()
  await expect(other.getByRole('button', { name: 'Buy now' })).toHaveCount(0)
  await page.getByRole('button', { name: 'Start selling: Steamed buns for two' }).click()
  await expect(flash).toHaveAttribute('data-status', 'ON_SALE')
  await other.reload()
  await expect(other.getByRole('button', { name: 'Buy now' })).toBeVisible()

  // The orders of the shop.
  const parts = page.getByRole('navigation', { name: 'Shop sections' })
  await parts.getByRole('link', { name: 'Orders' }).click()
  const order = page.locator(`[data-order="${number}"]`)
  await expect(order).toHaveAttribute('data-status', 'PAID')
  await expect(order).toContainText('¥12.50')
  await page.getByLabel('Status').selectOption('USED')
  await expect(page.getByText('No matching orders')).toBeVisible()
  await page.getByLabel('Status').selectOption('PAID')
  await expect(order).toBeVisible()

  // The insights, which are counted with a delay.
  await parts.getByRole('link', { name: 'Insights' }).click()
  await expect(async () => {
    await page.reload()
    const quickly = { timeout: 3000 }
    await expect(page.locator('[data-total=amount]')).toContainText('¥12.50', quickly)
    await expect(page.locator('[data-total=paid] dd')).toHaveText('1', quickly)
    await expect(page.locator('[data-total=views] dd')).not.toHaveText('0', quickly)
  }).toPass({ timeout: 40_000 })
  const sales = await openChartTable(page, 'Sales')
  await expect(sales.filter({ hasText: '¥12.50' })).toHaveCount(1)
  const visits = await openChartTable(page, 'Visits')
  await expect(visits.filter({ hasText: /[1-9]\d*$/ })).not.toHaveCount(0)

  await page.goto('/merchant')
  await expect(page.getByRole('link', { name: /^Willow Steam House/ }).first()).toBeVisible()
})

test('merchant and customer screens share the voucher code label', async ({ person, server }) => {
  const merchant = await server.login('MERCHANT')
  const { api, ...customer } = await server.newUser('+999007770412')
  const id = await placeOrder(api, await voucher(merchant.api, server.shop))
  const { page } = await person({ as: customer, locale: 'zh-CN' })
  await page.goto(`/orders/${id}`)
  const number = page.getByRole('definition').first()
  const shown = page.getByRole('term').first()
  await expect(shown).toHaveText('券码')
  const desk = (await person({ as: 'MERCHANT', locale: 'zh-CN' })).page
  await desk.goto('/merchant/redeem')
  await desk.getByLabel('券码', { exact: true }).fill(await number.innerText())
  await desk.getByRole('button', { name: '查询' }).click()
  await expect(desk.locator('[data-refused="UNPAID"]')).toBeVisible()
})

test('a stale form does not reactivate a voucher', async ({ person, server }) => {
  const merchant = await server.login('MERCHANT')
  const id = await voucher(merchant.api, server.shop)
  const { page } = await person({ as: merchant })
  await page.goto(`/merchant/vouchers/${id}`)
  await expect(page.getByRole('checkbox', { name: /^On sale/ })).toBeChecked()
  await merchant.api(
    `mutation ($id: ID!) { updateVoucher(input: {id: $id, status: OFF_SALE}) { userErrors { message } } }`,
    { id },
  )
  await page.getByLabel('Title', { exact: true }).fill('Fifty for forty, at lunch')
  await page.getByRole('button', { name: 'Save' }).click()
  const saved = page.getByRole('article').filter({ hasText: 'Fifty for forty, at lunch' })
  await expect(saved).toHaveAttribute('data-status', 'OFF_SALE')
  const now = await merchant.api(
    `query ($id: ID!) { voucher(id: $id) { ... on OrdinaryVoucher { title status } } }`,
    { id },
  )
  expect(now.voucher).toEqual({ title: 'Fifty for forty, at lunch', status: 'OFF_SALE' })
})

test('the admin screen refreshes by itself', async ({ person, server }) => {
  // Makes one key hot.
  const visitor = server.api()
  for (let i = 0; i < 60; i++)
    await visitor(`query ($id: ID!) { shop(id: $id) { name } }`, { id: server.shop })
  const { page } = await person({ as: 'ADMIN', device: 'desktop' })
  await page.goto('/admin')
  const asOf = page.locator('[data-as-of]')
  await expect(asOf).toBeVisible()
  const before = (await asOf.getAttribute('data-as-of'))!
  await expect(page.locator('[data-cache]')).not.toHaveCount(0)
  const ratios = await page
    .locator('[data-cache]')
    .evaluateAll((all) => all.map((e) => Number(e.getAttribute('data-ratio'))))
  for (const ratio of ratios) {
    expect(ratio).toBeGreaterThanOrEqual(0)
    expect(ratio).toBeLessThanOrEqual(1)
  }
  expect(Math.max(...ratios)).toBeGreaterThan(0)
  await expect(page.locator('[data-queue]')).not.toHaveCount(0)
  await expect(page.locator('[data-key]')).not.toHaveCount(0)
  const visits = await openChartTable(page, 'Site visits')
  await expect(visits.first().locator('td')).toHaveCount(2)
  const sales = await openChartTable(page, 'Sales')
  await expect(sales.first().locator('td').first()).toHaveText(/^¥[\d,.]+$/)

  await expect(asOf).not.toHaveAttribute('data-as-of', before)
  const after = (await asOf.getAttribute('data-as-of'))!
  expect(Date.parse(after)).toBeGreaterThan(Date.parse(before))
})

test('prices and stock accept any keypad', async ({ person, server }) => {
  const merchant = await server.login('MERCHANT')
  const { page } = await person({ as: 'MERCHANT' })
  await page.goto(`/merchant/shops/${server.shop}/vouchers/new`)
  await page.getByRole('radio', { name: /^Flash sale/ }).check()
  await page.getByLabel('Title', { exact: true }).fill('Typed on a keypad')
  const price = page.getByLabel('Price (¥)')
  const worth = page.getByLabel('Value (¥)')
  await price.fill('12,50')
  await expect(page.getByText('= ¥12.50')).toBeVisible()
  await worth.fill('1.200')
  await page.getByRole('textbox', { name: 'Stock' }).fill('１００')
  await page.getByRole('button', { name: 'Create voucher' }).click()
  await expect(worth).toHaveAttribute('aria-invalid', 'true')
  await expect(page.getByText('This could be two amounts.')).toBeVisible()
  await worth.fill('١٬٢٠٠٫٥')
  await expect(page.getByText('= ¥1,200.50')).toBeVisible()
  await page.getByRole('button', { name: 'Create voucher' }).click()
  await expect(page.getByText('Voucher created.')).toBeVisible()

  const { shop } = await merchant.api(
    `query ($id: ID!) { shop(id: $id) { vouchers { id title payValue faceValue ... on FlashVoucher { sale { stock } } } } }`,
    { id: server.shop },
  )
  const made = shop.vouchers.find(({ title }: { title: string }) => title === 'Typed on a keypad')
  expect(made).toMatchObject({ payValue: 1250, faceValue: 120_050, sale: { stock: 100 } })
  await merchant.api(
    `mutation ($id: ID!) { updateFlashVoucher(input: {id: $id, status: OFF_SALE}) { userErrors { message } } }`,
    { id: made.id },
  )
})

test('an imported shop without address can be saved', async ({ person, server }) => {
  test.setTimeout(180_000)
  const folder = await mkdtemp(join(tmpdir(), 'tandian-import-'))
  const file = join(folder, 'shops.geojson')
  const properties = { '@id': 'node/990077', name: 'Nameless Lane Cafe', amenity: 'cafe' }
  const geometry = { type: 'Point', coordinates: [120.1523, 30.2461] }
  const features = [{ type: 'Feature', id: 'node/990077', properties, geometry }]
  await writeFile(file, JSON.stringify({ type: 'FeatureCollection', features }))
  try {
    await server.stop()
    await server.command('import', file)
    await server.start()
  } finally {
    await rm(folder, { recursive: true })
  }
  const { shops } = await server.api()(
    `{ shops(filter: {search: "Nameless Lane"}) { edges { node { id address } } } }`,
  )
  const { id, address } = shops.edges[0].node
  expect(address).toBe('')

  const { page } = await person({ as: 'ADMIN' })
  const sent = await changeResponses(page, 'UpdateShop', () => undefined)
  await page.goto(`/merchant/shops/${id}/edit`)
  await page.getByLabel('Opening hours').fill('07:00–20:00')
  await page.getByRole('button', { name: 'Save' }).click()
  await expect(page.getByText('Saved.')).toBeVisible()
  expect(sent).toEqual([{ input: { id, openHours: '07:00–20:00' } }])
  const { shop } = await server.api()(`query ($id: ID!) { shop(id: $id) { openHours address } }`, {
    id,
  })
  expect(shop).toEqual({ openHours: '07:00–20:00', address: '' })

  // Changed fields are checked.
  await page.goto(`/merchant/shops/${id}/edit`)
  const name = page.getByLabel('Shop name')
  await name.fill('👨‍👩‍👧‍👦'.repeat(18))
  await expect(page.getByText('126 of 120 characters')).toBeVisible()
  await page.getByRole('button', { name: 'Save' }).click()
  await expect(name).toBeFocused()
  await name.fill('👨‍👩‍👧‍👦'.repeat(17))
  await page.getByRole('button', { name: 'Save' }).click()
  await expect(page.getByText('Saved.')).toBeVisible()
  expect(sent.at(-1)).toEqual({ input: { id, name: '👨‍👩‍👧‍👦'.repeat(17) } })
})

test('insights end today by the server and show full amounts', async ({ person, server }) => {
  // A browser one day ahead of the server's time zone.
  const { page } = await person({
    as: 'MERCHANT',
    device: 'desktop',
    timezoneId: 'Pacific/Kiritimati',
  })
  await changeResponses(page, 'ServerToday', ({ me }) => (me.checkIns.today = '2026-03-01'))
  const sent = await changeResponses(page, 'MyShopFigures', ({ shop }) => {
    shop.salesByDay.at(-1).amount = 3_100_000_000
    shop.salesByDay.at(-2).amount = 3_100_000_000
  })
  await page.goto(`/merchant/shops/${server.shop}?part=figures`)
  const rows = await openChartTable(page, 'Sales')
  expect(sent[0]).toMatchObject({ from: '2026-01-31', to: '2026-03-01' })
  await expect(rows.last()).toContainText('1 Mar 2026')
  await expect(rows.last()).toContainText('¥31,000,000')
  await expect(page.locator('[data-total=amount]')).toContainText('¥62,000,000')
})

test('an unrated shop shows no stars', async ({ person, server }) => {
  for (const [locale, said] of [
    ['en-US', 'No ratings yet'],
    ['zh-CN', '暂无评分'],
  ] as const) {
    const { page } = await person({ locale })
    await changeResponses(page, 'Shop', ({ shop }) => {
      shop.score = null
      Object.assign(shop.rating, { average: null, count: 0 })
    })
    await page.goto(`/shops/${server.shop}`)
    await expect(page.getByText(said).first()).toBeVisible()
    await expect(page.getByText(/of 5 stars|满分/)).toHaveCount(0)
    await a11y(page)
  }
})
