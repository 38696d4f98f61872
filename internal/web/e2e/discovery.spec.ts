import { a11y, expect, test, type Page } from './fixtures.ts'
import { changeResponses, createShop, flashSale, voucher } from './testdata.ts'

const names = (page: Page) => page.getByRole('article').getByRole('heading')

test('filter chips narrow the search and stay in the URL', async ({ person, server }) => {
  const { api } = await server.login('MERCHANT')
  const cheap = await createShop(api, 'Quince One', { avgPrice: 3000, openHours: '24/7' })
  const dear = await createShop(api, 'Quince Two', { avgPrice: 15_000, openHours: 'Mo-Su off' })
  await createShop(api, 'Quince Three')
  await voucher(api, cheap)
  await flashSale(api, dear, 5)
  const { page } = await person()
  const chip = (name: string) => page.getByRole('button', { name, exact: true })

  await page.goto('/')
  await page.getByRole('region', { name: 'Nearby' }).getByRole('link', { name: 'Open now' }).click()
  await expect(page).toHaveURL(/\/search\?open=1$/)
  await expect(chip('Open now')).toHaveAttribute('aria-pressed', 'true')
  await page.getByLabel('Shop, neighbourhood or street').fill('quince')
  await expect(names(page)).toHaveText(['Quince One'])
  await expect(page.getByRole('article')).toContainText('Open')
  await a11y(page)
  await chip('Open now').click()
  await expect(names(page)).toHaveCount(3)
  await expect(page).not.toHaveURL(/open=/)

  // Ranges of a price exclude each other.
  await chip('Under ¥50').click()
  await expect(names(page)).toHaveText(['Quince One'])
  await chip('¥100–200').click()
  await expect(chip('Under ¥50')).toHaveAttribute('aria-pressed', 'false')
  await expect(names(page)).toHaveText(['Quince Two'])
  await expect(page).toHaveURL(/price=100-200/)
  await page.reload()
  await expect(chip('¥100–200')).toHaveAttribute('aria-pressed', 'true')
  await expect(names(page)).toHaveText(['Quince Two'])
  await page.getByRole('link', { name: 'Quince Two' }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'Quince Two' })).toBeVisible()
  await page.goBack()
  await expect(chip('¥100–200')).toHaveAttribute('aria-pressed', 'true')
  await expect(names(page)).toHaveText(['Quince Two'])
  await page.goForward()
  await expect(page.getByRole('heading', { level: 1, name: 'Quince Two' })).toBeVisible()
  await page.goBack()

  await chip('¥100–200').click()
  await chip('Flash sales').click()
  await expect(names(page)).toHaveText(['Quince Two'])
  await chip('Vouchers').click()
  await page.getByLabel('Sort by').selectOption('Newest')
  await chip('Flash sales').click()
  await expect(names(page)).toHaveText(['Quince Two', 'Quince One'])
  await page.getByLabel('Sort by').selectOption('Best rated')
  // Distances stay in every order.
  await expect(page.getByRole('article').first()).toContainText(/\d+ m/)

  await chip('4.5+ stars').click()
  await expect(page.getByText('No results.')).toBeVisible()
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await expect(names(page)).toHaveCount(3)
  await expect(page).not.toHaveURL(/score=|voucher=/)
})

test('a search far from all shops can leave its place', async ({ person }) => {
  const { page } = await person({ geolocation: { latitude: 51.5, longitude: -0.12 } })
  await page.goto('/')
  await expect(page.getByRole('button', { name: 'Near me' })).toBeVisible()
  await page.goto('/search?q=lotus+pond+noodles')
  await page.getByRole('button', { name: 'Search everywhere' }).click()
  await expect(names(page)).toHaveCount(1)
  await expect(page.getByLabel('Sort by').getByRole('option', { name: 'Nearest' })).toHaveCount(0)
  await page.getByRole('button', { name: 'Anywhere' }).click()
  await expect(page.getByText('No results.')).toBeVisible()
})

test('shops are ranked by several measures', async ({ person, server }) => {
  const { page } = await person({ as: await server.newUser('+999007770621') })
  await page.goto('/')
  await page.getByRole('link', { name: 'Rankings' }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'Rankings' })).toBeFocused()
  const tabs = page.getByRole('navigation', { name: 'Rankings' })
  await expect(tabs.getByRole('link', { name: 'Trending' })).toHaveAttribute('aria-current', 'true')
  await tabs.getByRole('link', { name: 'Top rated' }).click()
  await expect(page).toHaveURL(/by=rated/)
  await expect(page.getByRole('article').first()).toBeVisible()
  await a11y(page)
  const { shopRanking } = await server.api()(
    `{ shopRanking(kind: TOP_RATED, first: 3) { edges { node { name } } } }`,
  )
  const best = shopRanking.edges.map(({ node }: { node: { name: string } }) => node.name)
  await expect(names(page).nth(0)).toHaveText(best[0])
  await expect(names(page).nth(2)).toHaveText(best[2])

  await page.getByLabel('Category').selectOption('Cafés & tea')
  await expect(page).toHaveURL(/by=rated&type=/)
  await expect(page.getByRole('article').first()).toContainText('Cafés & tea')
  await page.reload()
  await expect(page.getByRole('article').first()).toContainText('Cafés & tea')
  await tabs.getByRole('link', { name: 'Bestselling' }).click()
  await expect(page).toHaveURL(/by=selling&type=/)
  await expect(page.getByLabel('Category')).not.toHaveValue('')
})

test('opening hours are read in the zone of the shop', async ({ person, server }) => {
  const { api } = await server.login('MERCHANT')
  const evening = await createShop(api, 'Evening Star', {
    openHours: 'Tu-Su 17:30-22:00',
    timeZone: 'Asia/Tokyo',
  })
  const always = await createShop(api, 'Day Star', { openHours: '24/7' })
  const free = await createShop(api, 'Free Star', { openHours: 'When the lamp is on' })
  for (const [locale, days, closed, all] of [
    ['en-US', 'Tue–Sun', 'Closed', 'Open 24 hours'],
    ['zh-CN', '周二至周日', '休息中', '24 小时营业'],
  ] as const) {
    const { page } = await person({ locale, timezoneId: 'America/New_York' })
    await page.goto(`/shops/${evening}`)
    await page.locator('summary').click()
    const rows = page.locator('details').getByRole('row')
    await expect(rows).toHaveCount(2)
    await expect(rows.nth(0)).toContainText(closed)
    await expect(rows.nth(1)).toContainText(days)
    await expect(rows.nth(1)).toContainText('17:30–22:00')
    // The server's state agrees with the clock of the shop.
    await expect(page.locator('summary')).toContainText(/17:30|22:00/)
    await a11y(page)
    await page.goto(`/shops/${always}`)
    await expect(page.locator('summary')).toHaveText(all)
    await page.goto(`/shops/${free}`)
    await expect(page.getByText('When the lamp is on')).toBeVisible()
    await expect(page.locator('summary')).toHaveCount(0)
  }
})

test('the state changes while the page is open', async ({ person, server }) => {
  const { api } = await server.login('MERCHANT')
  const shop = await createShop(api, 'Morning Star', {
    openHours: 'Mo-Su 08:00-20:00',
    timeZone: 'Asia/Shanghai',
  })
  const { page } = await person()
  const hour = 3_600_000 // ms
  const begin = Date.now()
  let asked = 0
  await changeResponses(page, 'Shop', ({ shop: shown }) => {
    shown.isOpen = ++asked === 1
    shown.hours.nextChange = new Date(begin + (shown.isOpen ? 1 : 30) * hour).toISOString()
  })
  await page.clock.install()
  await page.goto(`/shops/${shop}`)
  await expect(page.locator('summary')).toContainText(/^Open · closes \d+:\d\d$/)
  await page.clock.fastForward(hour + 5000)
  await expect(page.locator('summary')).toContainText(/^Closed · opens /)
})

test('a shop page links to phone and website', async ({ person, server }) => {
  const { api } = await server.login('MERCHANT')
  const shop = await createShop(api, 'Calling Card', {
    phone: '+81 3-0000-0000; +81 3-0000-0001',
    website: 'https://www.example.com/menu?a=1',
  })
  const { page } = await person()
  await page.goto(`/shops/${shop}`)
  const phone = page.getByRole('link', { name: /^\+81/ })
  await expect(phone).toHaveAttribute('href', 'tel:+81300000000')
  const website = page.getByRole('link', { name: 'example.com' })
  await expect(website).toHaveAttribute('href', 'https://www.example.com/menu?a=1')
  await expect(website).toHaveAttribute('rel', 'noopener noreferrer nofollow ugc')
})

test('notes stand above the map', async ({ person, server }) => {
  const { page } = await person()
  await page.goto(`/shops/${server.shop}`)
  const headings = page.getByRole('heading', { level: 2 })
  await expect(headings).toHaveText(['Vouchers', 'Ratings', 'Notes', 'Location'])
})

test('merchants see how their opening hours are understood', async ({ person, server }) => {
  const { page } = await person({ as: 'MERCHANT' })
  await page.goto('/merchant/shops/new')
  await expect(page.getByLabel('Time zone')).toHaveValue('Asia/Shanghai')
  await page.getByLabel('Shop name').fill('Hourglass House')
  await page.getByLabel('Category').selectOption({ label: 'Restaurants' })
  await page.getByLabel('Address').fill('1 Sand Street')
  await page.getByLabel('Latitude').fill('30.2451')
  await page.getByLabel('Longitude').fill('120.1513')
  await page.getByLabel('Opening hours').fill('Mo-Fr 08:00-22:00; Sa,Su 09:00-26:00')
  await page.getByLabel('Phone').fill('0571 0000 0000')
  const website = page.getByLabel('Website')
  await website.fill('javascript:alert(1)')
  await page.getByRole('button', { name: 'Create shop' }).click()
  await expect(website).toHaveAttribute('aria-invalid', 'true')
  await website.fill('example.com')
  await page.getByRole('button', { name: 'Create shop' }).click()
  const read = 'Mon–Fri 8:00–22:00; Sat–Sun 9:00–2:00'
  await expect(page.getByText(`Your shop is live. Shown as: ${read}`)).toBeVisible()
  const id = new URL(page.url()).pathname.split('/').at(-1)!
  const { shop } = await server.api()(
    `query ($id: ID!) { shop(id: $id) { timeZone phone website } }`,
    { id },
  )
  expect(shop).toEqual({
    timeZone: 'Asia/Shanghai',
    phone: '0571 0000 0000',
    website: 'https://example.com',
  })

  await page.getByRole('link', { name: 'Edit shop' }).click()
  await expect(page.getByText(`Shown as: ${read}`)).toBeVisible()
  await page.getByLabel('Opening hours').fill('Ask the cat')
  await page.getByLabel('Time zone').fill('Moon/Tranquility')
  await page.getByRole('button', { name: 'Save' }).click()
  await expect(page.getByLabel('Time zone')).toHaveAttribute('aria-invalid', 'true')
  await page.getByLabel('Time zone').fill('Asia/Tokyo')
  await page.getByRole('button', { name: 'Save' }).click()
  await expect(page.getByText('Saved. Shown as you wrote it.')).toBeVisible()
})
