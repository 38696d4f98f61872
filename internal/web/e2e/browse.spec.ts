import type { Locator, Route } from '@playwright/test'

import { expect, stack, test, type Page } from './fixtures.ts'
import { flashSale, uploadPicture } from './testdata.ts'

test('shops are found by place, text and category', async ({ person }) => {
  const { page } = await person()
  await page.goto('/')
  // With permission granted, the browser shares its position without a prompt.
  await expect(page.getByRole('button', { name: 'Near me' })).toBeVisible()
  const nearby = page.getByRole('region', { name: 'Nearby' })
  await expect(nearby.getByText(/^\d+ m$/).first()).toBeVisible()

  await page.getByRole('link', { name: 'Search shops' }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'Search' })).toBeFocused()
  await page.getByLabel('Shop, neighbourhood or street').fill('lotus pond noodles')
  await expect(page.getByRole('article')).toHaveCount(1)
  await expect(page).toHaveURL(/q=lotus/)
  await page.getByRole('link', { name: /Lotus Pond Noodles/ }).click()
  await expect(page.getByRole('heading', { level: 1, name: /Lotus Pond Noodles/ })).toBeVisible()

  // The URL contains the search: going back restores it.
  await page.goBack()
  await expect(page.getByLabel('Shop, neighbourhood or street')).toHaveValue('lotus pond noodles')
  await page.getByLabel('Shop, neighbourhood or street').fill('nothing is called like this')
  await expect(page.getByText('No results.')).toBeVisible()
  await page.getByLabel('Shop, neighbourhood or street').fill('')
  await page.getByLabel('Category').selectOption('Cafés & tea')
  await page.getByLabel('Sort by').selectOption('Best rated')
  await expect(page.getByRole('article').first()).toContainText('Cafés & tea')
  const kinds = await page.getByRole('article').getByText('Cafés & tea').count()
  expect(kinds).toBe(await page.getByRole('article').count())
})

test('the position is refreshed and a picked place stays', async ({ person }) => {
  const { page, context } = await person()
  await page.goto('/')
  const nearest = page.getByRole('region', { name: 'Nearby' }).getByRole('article').first()
  const name = await nearest.getByRole('link').innerText()
  await context.setGeolocation({ latitude: 30.25, longitude: 120.16 })
  await page.reload()
  await expect(nearest.getByRole('link')).not.toHaveText(name)

  await page.getByRole('button', { name: 'Near me' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Search for a shop or street').fill('Second Ripple')
  await dialog.getByRole('button', { name: /Second Ripple Coffee/ }).click()
  await page.reload()
  await expect(nearest).toContainText('Second Ripple Coffee')
})

test('failed places can be retried', async ({ person }) => {
  const { page } = await person({ geolocation: null })
  await page.goto('/')
  await expect(page.getByRole('region', { name: 'Best rated' })).toBeVisible()
  await page.route('**/graphql', fail)
  await page.getByRole('button', { name: 'Set location' }).click()
  const dialog = page.getByRole('dialog')
  const again = dialog.getByRole('button', { name: 'Try again' })
  await expect(again).toBeVisible()
  await page.unrouteAll({ behavior: 'wait' })
  await again.click()
  await expect(dialog.getByRole('listitem').first()).toBeVisible()
})

test('users without a position pick a place', async ({ person }) => {
  const { page } = await person({ geolocation: null })
  await page.goto('/')
  await expect(page.getByRole('region', { name: 'Best rated' })).toBeVisible()
  await page.getByRole('button', { name: 'Set location' }).click()
  const dialog = page.getByRole('dialog', { name: 'Set location' })
  await dialog.getByRole('button', { name: 'Use my location' }).click()
  // In the dialog: content outside of it is hidden and not announced.
  await expect(dialog.getByText('We couldn’t get your location.')).toBeVisible()
  await dialog.getByLabel('Search for a shop or street').fill('Second Ripple')
  await dialog.getByRole('button', { name: /Second Ripple Coffee/ }).click()
  await expect(dialog).toBeHidden()
  await expect(page.getByRole('region', { name: 'Nearby' })).toContainText('Second Ripple Coffee')
  await page.reload()
  await expect(page.getByRole('button', { name: /^Lotus Pond/ })).toBeVisible()
})

test('the chosen language and theme persist', async ({ person }) => {
  const { page } = await person({ locale: 'zh-CN' })
  await page.goto('/settings')
  await expect(page.getByRole('heading', { level: 1, name: '设置' })).toBeVisible()
  await expect(page.locator('html')).toHaveAttribute('lang', 'zh-CN')
  await page.goto('/search')
  await expect(page.getByText(/^人均 ¥\d+$/).first()).toBeVisible()
  await page.goto('/settings')
  await page.getByLabel('语言').selectOption('English')
  await expect(page.getByRole('heading', { level: 1, name: 'Settings' })).toBeVisible()
  await expect(page.locator('html')).toHaveAttribute('lang', 'en')
  await page.reload()
  await expect(page.getByRole('heading', { level: 1, name: 'Settings' })).toBeVisible()
  await page.getByLabel('Theme').selectOption('Dark')
  await page.goto('/')
  const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor)
  expect(ground).toBe('rgb(22, 20, 18)')
})

test('Back restores a long list', async ({ person }) => {
  const { page } = await person()
  await page.goto('/search')
  const cards = page.getByRole('article')
  await expect(cards).toHaveCount(20)
  await cards.last().scrollIntoViewIfNeeded()
  await expect(cards).toHaveCount(40)
  await cards.nth(30).scrollIntoViewIfNeeded()
  const name = await cards.nth(30).getByRole('link').innerText()
  const before = await page.evaluate(() => window.scrollY)
  expect(before).toBeGreaterThan(1000)
  await cards.nth(30).getByRole('link').click()
  await expect(page.getByRole('heading', { level: 1, name })).toBeVisible()
  expect(await page.evaluate(() => window.scrollY)).toBe(0)

  await page.goBack()
  await expect(cards.nth(30)).toBeInViewport()
  await expect.poll(() => page.evaluate(() => window.scrollY)).toBe(before)
  // Tab continues from there, not from the top.
  await expect(cards.nth(30).getByRole('link')).toBeFocused()

  // A reload too, without state in memory.
  await page.reload()
  await expect.poll(() => page.evaluate(() => window.scrollY)).toBe(before)
  await expect(cards.nth(30).getByRole('link')).toHaveText(name)
})

test('an unknown path shows the 404 screen', async ({ person }) => {
  const { page, expectConsole } = await person()
  expectConsole(/status of 404/, 'the status of the page')
  await page.goto('/no/such/screen')
  await expect(page.getByRole('heading', { level: 1, name: 'Page not found' })).toBeVisible()
  await page.getByRole('link', { name: 'Go to home' }).click()
  await expect(page.getByRole('region', { name: 'Nearby' })).toBeVisible()
})

test('late pictures do not shift the layout', async ({ person }) => {
  const { page } = await person()
  let go!: () => void
  const wait = new Promise<void>((resolve) => (go = resolve))
  await page.route('**/media/**', async (route) => {
    await wait
    await route.continue()
  })
  await page.goto('/')
  await expect(page.getByRole('article').nth(5)).toBeVisible()
  // The lists load one by one. Only pictures may be late.
  await expect(page.getByLabel('Loading')).toHaveCount(0)
  const tops = () =>
    page.getByRole('article').evaluateAll((all) => all.map((e) => e.getBoundingClientRect().top))
  const before = await tops()
  const loaded = page.waitForResponse('**/media/**')
  go()
  await loaded
  // On stores the nearby shops have no pictures, only the notes below do.
  await expect.poll(() => picturesLoaded(page)).toBeGreaterThan(stack === 'stores' ? 0 : 3)
  expect(await tops()).toEqual(before)
})

function picturesLoaded(page: Page): Promise<number> {
  return page
    .locator('article img')
    .evaluateAll((all) => all.filter((e) => (e as HTMLImageElement).naturalWidth > 0).length)
}

test('requests carry only a document hash', async ({ person }) => {
  const { page } = await person()
  const sent: { query?: string; hash?: string; operationName?: string }[] = []
  page.on('request', (request) => {
    if (!request.url().endsWith('/graphql')) return
    const body = request.postDataJSON()
    sent.push({ query: body.query, hash: body.extensions?.persistedQuery?.sha256Hash })
  })
  await page.goto('/')
  await expect(page.getByRole('article').nth(8)).toBeVisible()
  expect(sent.length).toBeGreaterThan(2)
  for (const { query, hash } of sent) {
    expect(query).toBeUndefined()
    expect(hash).toMatch(/^[0-9a-f]{64}$/)
  }
})

/** Responds with an internal error. */
async function fail(route: Route): Promise<void> {
  await route.fulfill({
    json: { data: null, errors: [{ message: '', extensions: { code: 'INTERNAL' } }] },
  })
}

test('the first paint follows the dark scheme', async ({ person }) => {
  const { page, expectNetworkErrors } = await person({ colorScheme: 'dark' })
  expectNetworkErrors()
  await page.route('**/*.js', (route) => route.abort())
  await page.goto('/')
  await expect(page.locator('body')).toHaveCSS('background-color', 'rgb(22, 20, 18)')
})

test('text at 200 % is not cut', async ({ person }) => {
  const { page } = await person({ as: 'CUSTOMER' })
  await page.addInitScript(() => {
    document.addEventListener('DOMContentLoaded', () => {
      document.documentElement.style.fontSize = '200%'
    })
  })
  await page.goto('/me')
  const days = page.locator('[data-day] > span')
  await expect(days.first()).toBeVisible()
  await expect(page.locator('body')).toHaveCSS('font-size', '32px')
  const broken = days.evaluateAll((all) =>
    all
      .map((e) => e.firstChild!)
      .filter((text) => {
        const range = document.createRange()
        range.selectNode(text)
        return range.getClientRects().length > 1
      }),
  )
  expect(await broken).toHaveLength(0)
  const tabs = page.getByRole('navigation', { name: 'Main' }).getByRole('link')
  expect(await overflowing(tabs)).toEqual([])
  await page.goto('/')
  const types = page.getByRole('navigation', { name: 'Categories' }).getByRole('link')
  await expect(types.first()).toBeVisible()
  expect(await overflowing(types)).toEqual([])
})

test('categories and headings fit a narrow desktop', async ({ person }) => {
  const { page } = await person({ device: 'desktop' })
  await page.setViewportSize({ width: 900, height: 900 })
  await page.goto('/')
  const types = page.getByRole('navigation', { name: 'Categories' }).getByRole('link')
  await expect(types.first()).toBeVisible()
  expect(await overflowing(types)).toEqual([])
  const hot = page.getByRole('region', { name: 'Trending notes' })
  const note = await hot.getByRole('article').first().boundingBox()
  const heading = await hot.getByRole('heading', { level: 2 }).boundingBox()
  expect(note!.y - heading!.y - heading!.height).toBeGreaterThanOrEqual(8)
})

/** Returns the texts of elements whose content overflows. */
function overflowing(of: Locator): Promise<string[]> {
  return of.evaluateAll((all) =>
    all
      .filter((e) => e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1)
      .map((e) => e.textContent),
  )
}

test('queue names do not break on a small phone', async ({ person }) => {
  const { page } = await person({ as: 'ADMIN' })
  await page.setViewportSize({ width: 320, height: 640 })
  await page.goto('/admin')
  const name = page.locator('[data-queue=feed] th')
  await expect(name).toBeVisible()
  const { height } = (await name.boundingBox())!
  expect(height).toBeLessThan(50)
})

test('the offline banner is visible after scrolling', async ({ person }) => {
  const { page, context, expectNetworkErrors } = await person()
  await page.goto('/')
  const last = page.getByRole('region', { name: 'Trending notes' }).getByRole('article').nth(3)
  await last.scrollIntoViewIfNeeded()
  expectNetworkErrors()
  await context.setOffline(true)
  await expect(page.getByText('You’re offline. Content may be out of date.')).toBeInViewport()
})

test('a failed check-in month can be retried', async ({ person }) => {
  const { page } = await person({ as: 'CUSTOMER' })
  await page.goto('/me')
  const before = page.getByRole('button', { name: 'Previous month' })
  await expect(before).toBeVisible()
  await page.route('**/graphql', fail)
  await before.click()
  const again = page.getByRole('button', { name: 'Try again' })
  await expect(again).toBeVisible()
  await page.unrouteAll({ behavior: 'wait' })
  await again.click()
  await expect(page.locator('[data-day]').first()).toBeVisible()
})

test('a countdown uses the singular of hour', async ({ person, server }) => {
  const { api } = await server.login('MERCHANT')
  const sale = await flashSale(api, server.shop, 3, 90)
  const { page } = await person()
  await page.goto(`/sales/${sale}`)
  await expect(page.getByRole('timer').first()).toContainText(/1 hour \d+ minutes/)
})

test('the gallery works by keyboard without motion', async ({ person, server }) => {
  const me = await server.newUser('+999007770104')
  const images = [await uploadPicture(server, me, 640), await uploadPicture(server, me, 641)]
  const { publishNote } = await me.api(
    `mutation ($input: PublishNoteInput!) { publishNote(input: $input) { note { id } userErrors { message } } }`,
    { input: { shopId: server.shop, title: 'Two pictures', content: 'Both of them.', images } },
  )
  const { page } = await person({ device: 'desktop', reducedMotion: 'reduce' })
  await page.goto(`/notes/${publishNote.note.id}`)
  const strip = page.locator('[data-picture] ul')
  const next = page.getByRole('button', { name: 'Next photo' })
  await next.press('Enter')
  const { left, width } = await strip.evaluate((e) => ({
    left: e.scrollLeft,
    width: e.clientWidth,
  }))
  expect(left).toBe(width)
  await expect(page.locator('[data-picture="2"]')).toBeVisible()
  // At the end the button keeps the focus.
  await expect(next).toHaveAttribute('aria-disabled', 'true')
  await expect(next).toBeFocused()
})
