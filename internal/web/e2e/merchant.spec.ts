import { expect, test, type Page } from './fixtures.ts'
import { picture } from './picture.ts'
import { place, voucher } from './things.ts'

const minute = 60_000 // ms

/** What a field for moments holds, in the zone of these browsers. */
const written = (at: number) => new Date(at + 8 * 60 * minute).toISOString().slice(0, 16)

/** The picture of a chart was drawn, and its table is shown. */
async function drawn(page: Page, title: string) {
  const chart = page.locator('figure').and(page.locator(`[data-chart^="${title}"]`))
  await expect(chart.getByRole('img')).toHaveAttribute('data-drawn', '30')
  await expect(chart.locator('canvas')).toBeVisible()
  const rows = chart.locator('tbody tr')
  const table = chart.locator('table')
  if (!(await table.isVisible())) await chart.getByText('Show as a table').click()
  await expect(table).toBeVisible()
  await expect(rows).toHaveCount(30)
  return rows
}

test('a merchant opens a shop with a picture, sells a voucher and a flash sale, and sees what comes of it', async ({
  person,
  server,
}) => {
  test.setTimeout(240_000)
  const { page } = await person({ as: 'MERCHANT', device: 'desktop' })
  const buyer = await server.newcomer('+999007770411')
  const customer = (await person({ as: buyer })).page

  // The shop. What is missing is said at its field first.
  await page.goto('/merchant')
  await page.getByRole('link', { name: 'New shop' }).click()
  const name = page.getByLabel('Name', { exact: true })
  await page.getByRole('button', { name: 'Open the shop' }).click()
  await expect(name).toHaveAttribute('aria-invalid', 'true')
  await expect(name).toBeFocused()
  await name.fill('Willow Steam House 柳记')
  await page.getByLabel('Kind').selectOption({ label: 'Restaurants' })
  await page.getByLabel('Address').fill('12 Willow Lane')
  await page.getByLabel('Quarter').fill('Old Bell')
  await page.getByLabel('Latitude').fill('30.2451')
  await page.getByLabel('Longitude').fill('120.1513')
  await page.getByLabel('Average spend a person, in yuan').fill('45.50')
  await page.getByLabel('Opening hours').fill('07:00–20:00')
  await page.locator('input[data-input=pictures]').setInputFiles({
    name: 'front.png',
    mimeType: 'image/png',
    buffer: picture(900, 600),
  })
  await expect(page.getByRole('img', { name: 'Picture 1' })).toBeVisible()
  await page.getByRole('button', { name: 'Open the shop' }).click()
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

  // An ordinary voucher.
  await page.getByRole('link', { name: 'New voucher' }).click()
  await page.getByRole('radio', { name: /^Ordinary/ }).check()
  await page.getByLabel('Title', { exact: true }).fill('Fifty for forty')
  await page.getByLabel('Price, in yuan').fill('60')
  await page.getByLabel('Worth, in yuan').fill('50')
  await page.getByRole('button', { name: 'Put on sale' }).click()
  await expect(page.getByLabel('Worth, in yuan')).toHaveAttribute('aria-invalid', 'true')
  await page.getByLabel('Price, in yuan').fill('40')
  await page.getByRole('button', { name: 'Put on sale' }).click()
  const ordinary = page.getByRole('article').filter({ hasText: 'Fifty for forty' })
  await expect(ordinary).toHaveAttribute('data-status', 'ON_SALE')
  await expect(ordinary).toContainText('¥40')

  // A flash sale that is open.
  await page.getByRole('link', { name: 'New voucher' }).click()
  await page.getByRole('radio', { name: /^Flash sale/ }).check()
  await page.getByLabel('Title', { exact: true }).fill('Steamed buns for two')
  await page.getByLabel('Price, in yuan').fill('12.50')
  await page.getByLabel('Worth, in yuan').fill('30')
  await page.getByRole('textbox', { name: 'Pieces' }).fill('3')
  const now = Date.now()
  await page.getByLabel('Opens').fill(written(now + 60 * minute))
  await page.getByLabel('Closes').fill(written(now))
  await page.getByRole('button', { name: 'Put on sale' }).click()
  await expect(page.getByLabel('Closes')).toHaveAttribute('aria-invalid', 'true')
  await page.getByLabel('Opens').fill(written(now - minute))
  await page.getByLabel('Closes').fill(written(now + 60 * minute))
  await page.getByRole('button', { name: 'Put on sale' }).click()
  const flash = page.getByRole('article').filter({ hasText: 'Steamed buns for two' })
  await expect(flash.locator('[data-stock="3"]')).toBeVisible()
  const sale = (await flash.getAttribute('data-voucher'))!

  // Both can be bought, and the stock moves on the other's screen as it is changed.
  await customer.reload()
  await expect(customer.getByRole('link', { name: 'Fifty for forty' })).toBeVisible()
  await customer.goto(`/sales/${sale}`)
  await expect(customer.locator('[data-phase="OPEN"]')).toBeVisible()
  await expect(customer.locator('[data-stock="3"]')).toBeVisible()
  await page.getByRole('link', { name: 'Edit Steamed buns for two' }).click()
  const delta = page.getByLabel('Pieces more or fewer')
  await delta.fill('-4')
  await page.getByRole('button', { name: 'Save' }).click()
  await expect(page.getByText('So many pieces are not left to take away.')).toBeVisible()
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

  // Off sale nobody else gets one.
  await page.reload()
  await expect(flash.locator('[data-stock="4"]')).toBeVisible()
  const other = (await person({ as: 'CUSTOMER' })).page
  await other.goto(`/sales/${sale}`)
  await expect(other.getByRole('button', { name: 'Buy now' })).toBeVisible()
  await page.getByRole('button', { name: 'Take off sale: Steamed buns for two' }).click()
  await expect(flash).toHaveAttribute('data-status', 'OFF_SALE')
  await other.reload()
  await expect(other.locator('[data-phase="OFF_SALE"]')).toBeVisible()
  await expect(other.getByRole('button', { name: 'Buy now' })).toHaveCount(0)
  await page.getByRole('button', { name: 'Put on sale: Steamed buns for two' }).click()
  await expect(flash).toHaveAttribute('data-status', 'ON_SALE')
  await other.reload()
  await expect(other.getByRole('button', { name: 'Buy now' })).toBeVisible()

  // The orders of the shop.
  const parts = page.getByRole('navigation', { name: 'Parts of the shop' })
  await parts.getByRole('link', { name: 'Orders' }).click()
  const order = page.locator(`[data-order="${number}"]`)
  await expect(order).toHaveAttribute('data-status', 'PAID')
  await expect(order).toContainText('¥12.50')
  await page.getByLabel('Show').selectOption('USED')
  await expect(page.getByText('No orders like that.')).toBeVisible()
  await page.getByLabel('Show').selectOption('PAID')
  await expect(order).toBeVisible()

  // Its figures, which are counted a moment later.
  await parts.getByRole('link', { name: 'Figures' }).click()
  await expect(async () => {
    await page.reload()
    const quickly = { timeout: 3000 }
    await expect(page.locator('[data-total=amount]')).toContainText('¥12.50', quickly)
    await expect(page.locator('[data-total=paid] dd')).toHaveText('1', quickly)
    await expect(page.locator('[data-total=views] dd')).not.toHaveText('0', quickly)
  }).toPass({ timeout: 40_000 })
  const sales = await drawn(page, 'Sales')
  await expect(sales.filter({ hasText: '¥12.50' })).toHaveCount(1)
  const visits = await drawn(page, 'Visits')
  await expect(visits.filter({ hasText: /[1-9]\d*$/ })).not.toHaveCount(0)

  await page.goto('/merchant')
  await expect(page.getByRole('link', { name: /^Willow Steam House/ }).first()).toBeVisible()
})

test('a merchant is asked for what the customer is told to show, in Chinese too', async ({
  person,
  server,
}) => {
  const merchant = await server.login('MERCHANT')
  const { ask, ...customer } = await server.newcomer('+999007770412')
  const id = await place(ask, await voucher(merchant.ask, server.shop))
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

test('a form that was open puts nothing on sale again that was taken off meanwhile', async ({
  person,
  server,
}) => {
  const merchant = await server.login('MERCHANT')
  const id = await voucher(merchant.ask, server.shop)
  const { page } = await person({ as: merchant })
  await page.goto(`/merchant/vouchers/${id}`)
  await expect(page.getByRole('checkbox', { name: /^On sale/ })).toBeChecked()
  await merchant.ask(
    `mutation ($id: ID!) { updateVoucher(input: {id: $id, status: OFF_SALE}) { userErrors { message } } }`,
    { id },
  )
  await page.getByLabel('Title', { exact: true }).fill('Fifty for forty, at lunch')
  await page.getByRole('button', { name: 'Save' }).click()
  const saved = page.getByRole('article').filter({ hasText: 'Fifty for forty, at lunch' })
  await expect(saved).toHaveAttribute('data-status', 'OFF_SALE')
  const now = await merchant.ask(
    `query ($id: ID!) { voucher(id: $id) { ... on OrdinaryVoucher { title status } } }`,
    { id },
  )
  expect(now.voucher).toEqual({ title: 'Fifty for forty, at lunch', status: 'OFF_SALE' })
})

test('an administrator sees caches, hot keys, queues and figures, which refresh by themselves', async ({
  person,
  server,
}) => {
  // Something that is asked for often.
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
  const visits = await drawn(page, 'Visits to the site')
  await expect(visits.first().locator('td')).toHaveCount(2)
  const sales = await drawn(page, 'Sales')
  await expect(sales.first().locator('td').first()).toHaveText(/^¥[\d,.]+$/)

  await expect(asOf).not.toHaveAttribute('data-as-of', before)
  const after = (await asOf.getAttribute('data-as-of'))!
  expect(Date.parse(after)).toBeGreaterThan(Date.parse(before))
})
