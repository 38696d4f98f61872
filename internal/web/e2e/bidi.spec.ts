import { expect, test, type Page } from './fixtures.ts'
import {
  customerScreens,
  publicScreens,
  createTourData,
  merchantScreens,
  waitUntilLoaded,
  type TourScreen,
} from './tour.ts'

const words = {
  voucher: 'قسيمة 50 (جديد)!',
  subTitle: 'لكل شيء (2)!',
  rules: '1. لكل طاولة!\n2. مرة واحدة!',
  sale: 'عشاء لشخصين (2)!',
  title: 'مقهى جيد (2)!',
  content: '123 شارع الملك!',
  comment: '123 شارع الملك!',
}
const name = 'مقهى الملك (2)!'
const nickname = 'سارة (2)!'
const address = '123 شارع الملك!'

/**
 * Returns right-to-left texts and fields that the page shows left to right: neither their element
 * has `dir` nor are they isolated.
 */
function findMisplaced(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const arabic = /[\u0590-\u08ff]/
    // oxlint-disable-next-line unicorn/consistent-function-scoping -- all of it goes to the page
    const left = (element: Element) => getComputedStyle(element).direction === 'ltr'
    const found: string[] = []
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
      const text = (node.nodeValue ?? '').replace(/\u2068[^\u2069]*\u2069/g, '')
      const parent = node.parentElement!
      if (arabic.test(text) && left(parent)) found.push(`${parent.outerHTML}`.slice(0, 300))
    }
    for (const field of document.querySelectorAll<HTMLInputElement>('input, textarea'))
      if (arabic.test(field.value) && left(field)) found.push(field.outerHTML.slice(0, 300))
    if (arabic.test(document.title.replace(/\u2068[^\u2069]*\u2069/g, '')))
      found.push(`the title ${document.title}`)
    return found
  })
}

/** Returns the parts of a text in their order on the screen, from left to right. */
function order(page: Page, selector: string, parts: readonly string[]): Promise<string[]> {
  return page
    .locator(selector)
    .first()
    .evaluate((element, wanted) => {
      const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
      const node = texts.nextNode()!
      const left = (part: string) => {
        const range = document.createRange()
        const at = node.nodeValue!.indexOf(part)
        range.setStart(node, at)
        range.setEnd(node, at + part.length)
        return range.getBoundingClientRect().left
      }
      return wanted.toSorted((a, b) => left(a) - left(b))
    }, parts)
}

const heading = (page: Page) => expect(page.locator('main h1')).toHaveCount(1)
const article = (page: Page) => expect(page.getByRole('article').first()).toBeVisible()

test('right-to-left text keeps its direction on all screens', async ({ person, server }) => {
  test.setTimeout(240_000)
  const merchant = await server.login('MERCHANT')
  const writer = await server.newUser('+999007770901')
  const reader = await server.newUser('+999007770902')
  for (const { api } of [writer, reader])
    await api(
      `mutation ($input: UpdateProfileInput!) { updateProfile(input: $input) { userErrors { message } } }`,
      { input: { nickname, bio: 'أحب القهوة (2)!\n123 شارع!', city: 'القاهرة (1)!' } },
    )
  const { shopTypes } = await merchant.api(`{ shopTypes { id } }`)
  const { createShop } = await merchant.api(
    `mutation ($input: CreateShopInput!) { createShop(input: $input) { shop { id } userErrors { message } } }`,
    {
      input: {
        name,
        typeId: shopTypes[0].id,
        area: 'الحي (1)!',
        address,
        location: { lat: 30.2447, lng: 120.1512 },
        openHours: 'يوميا 10:00!',
      },
    },
  )
  const shop = createShop.shop.id
  const made = await createTourData(server, words, shop, writer)
  await reader.api(
    `mutation ($id: ID!, $note: ID!) { follow(userId: $id) { userErrors { message } } likeNote(id: $note) { userErrors { message } } }`,
    { id: writer.userId, note: made.note },
  )
  const { order: bought } = await writer.api(`query ($id: ID!) { order(id: $id) { number } }`, {
    id: made.order,
  })

  let seen = 0
  const tour = async (page: Page, screens: readonly TourScreen[]) => {
    for (const { name: screen, path, ready } of screens) {
      await test.step(screen, async () => {
        await page.goto(path)
        await ready(page)
        await waitUntilLoaded(page)
        expect.soft(await findMisplaced(page), screen).toEqual([])
        seen += (await page.locator('main').innerText()).match(/[\u0590-\u08ff]+/g)?.length ?? 0
      })
    }
  }
  const { page } = await person({ as: reader })
  await tour(page, [
    ...publicScreens(made, shop).filter(({ name: screen }) => !/signin|not-found/.test(screen)),
    { name: 'found', path: `/search?q=${encodeURIComponent('مقهى')}`, ready: article },
    { name: 'common', path: `/users/${made.author}/followees`, ready: heading },
    { name: 'feed', path: '/feed', ready: article },
    { name: 'me', path: '/me', ready: (it) => expect(it.getByText(nickname)).toBeVisible() },
  ])

  // In the note, 123 is on the right and the ! on the left.
  await page.goto(`/notes/${made.note}`)
  await expect(page.locator('[data-comment]').first()).toBeVisible()
  const note = `[data-note="${made.note}"]`
  for (const at of [`${note} > * p[dir=auto]`, '[data-comment] p[dir=auto]'])
    expect(await order(page, at, ['!', 'الملك', '123'])).toEqual(['!', 'الملك', '123'])
  expect(await order(page, 'main h1', ['!', '2', 'مقهى'])).toEqual(['!', '2', 'مقهى'])
  await page
    .getByRole('button', { name: /^Reply to/ })
    .first()
    .click()
  await page.getByRole('textbox', { name: /^Reply to/ }).fill(words.comment)
  expect(await findMisplaced(page)).toEqual([])

  // The place picker and the shop of a note.
  await page.goto('/')
  await page.locator('main button').first().click()
  await page.getByRole('searchbox').fill('مقهى')
  await expect(page.getByRole('dialog').getByText(name)).toBeVisible()
  expect(await findMisplaced(page)).toEqual([])
  await page.goto(`/publish?shop=${shop}`)
  await page.getByLabel('Title').fill(words.title)
  await page.getByLabel('Your note').fill(words.content)
  await expect(page.getByText(name)).toBeVisible()
  expect(await findMisplaced(page)).toEqual([])

  const mine = (await person({ as: writer })).page
  await tour(
    mine,
    customerScreens(made).filter(({ name: screen }) => !/feed|^me$/.test(screen)),
  )
  await tour(mine, [{ name: 'followers', path: `/users/${made.author}/followers`, ready: heading }])

  const till = (await person({ as: 'MERCHANT', device: 'desktop', locale: 'zh-CN' })).page
  await tour(
    till,
    merchantScreens(made, shop).filter(
      ({ name: screen }) => !/figures|shop-new|orders/.test(screen),
    ),
  )
  await till.goto('/merchant/redeem')
  await till.getByLabel('券码').fill(bought.number)
  await till.getByRole('button', { name: '查询' }).click()
  await expect(till.getByText(words.sale)).toBeVisible()
  expect(await findMisplaced(till)).toEqual([])
  expect(seen, 'checked texts').toBeGreaterThan(100)
})

test('the check finds text in the wrong direction', async ({ person }) => {
  const { page } = await person()
  await page.goto('/settings')
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible() // nothing renders over it
  await page.evaluate((text) => {
    const place = document.querySelector('main')!
    place.innerHTML = `<p>${text}</p><p dir="auto">${text}</p><p>By \u2068${text}\u2069.</p><bdi>${text}</bdi>
      <input value="${text}"><input dir="auto" value="${text}">`
  }, words.title)
  expect(await findMisplaced(page)).toHaveLength(2)
})
