import { a11y, expect, test } from './fixtures.ts'
import { changeResponses, createShop } from './testdata.ts'

test('a shop is rated, and the rating changed and deleted', async ({ person, server }) => {
  const merchant = await server.login('MERCHANT')
  const user = await server.newUser('+999007770601')
  const shop = await createShop(merchant.api, 'Starfruit Diner')
  const { page } = await person({ as: user })
  const box = page.getByRole('region', { name: 'Ratings' })
  const sheet = page.getByRole('dialog', { name: 'Rate Starfruit Diner' })
  const star = (n: number) => sheet.locator(`[role=radiogroup] >> nth=0 >> input[value="${n}"]`)
  await page.goto(`/shops/${shop}`)
  await expect(box).toContainText('No ratings yet')

  // Stars only.
  await box.getByRole('button', { name: 'Rate this shop' }).click()
  await expect(sheet.getByRole('button', { name: 'Submit rating' })).toBeDisabled()
  await sheet.getByRole('radio', { name: '4 stars, good' }).check()
  await expect(sheet.getByText('good', { exact: true })).toBeVisible()
  await a11y(page)
  await sheet.getByRole('button', { name: 'Submit rating' }).click()
  await expect(page.getByText('Thanks for your rating!')).toBeVisible()
  await expect(sheet).toBeHidden()
  await expect(box.locator('[data-mine="4"]')).toBeVisible()
  await expect(box).toContainText('4.0 out of 5 stars, 1 rating')
  await expect(box.getByRole('listitem').first()).toContainText('5 stars: 0 ratings')
  await expect(box.getByRole('listitem').nth(1)).toContainText('4 stars: 1 rating')
  await a11y(page)

  // With the keyboard, and an aspect.
  await box.getByRole('button', { name: 'Change rating' }).click()
  await expect(star(4)).toBeChecked()
  await star(4).press('ArrowRight')
  await expect(star(5)).toBeChecked()
  const service = sheet.getByRole('radiogroup', { name: 'Service' })
  await service.locator('input[value="3"]').check()
  await sheet.getByRole('button', { name: 'Submit rating' }).click()
  await expect(box.locator('[data-mine="5"]')).toBeVisible()
  await expect(box.getByRole('definition')).toHaveText('3.0')
  await page.reload()
  await expect(box.locator('[data-mine="5"]')).toBeVisible()
  const read = () =>
    user.api(
      `query ($id: ID!) { shop(id: $id) { rating { count distribution } viewerRating { stars taste service } } }`,
      { id: shop },
    )
  expect((await read()).shop).toEqual({
    rating: { count: 1, distribution: [0, 0, 0, 0, 1] },
    viewerRating: { stars: 5, taste: null, service: 3 },
  })
  await box.getByRole('button', { name: 'Change rating' }).click()
  await sheet.getByRole('button', { name: 'Clear service' }).click()
  await sheet.getByRole('button', { name: 'Submit rating' }).click()
  await expect(sheet).toBeHidden()
  await expect(box.getByRole('definition')).toHaveCount(0)

  await box.getByRole('button', { name: 'Change rating' }).click()
  await sheet.getByRole('button', { name: 'Delete rating' }).click()
  await expect(page.getByText('Rating deleted.')).toBeVisible()
  await expect(box.getByRole('button', { name: 'Rate this shop' })).toBeVisible()
  await expect(box).toContainText('No ratings yet')
  expect((await read()).shop).toMatchObject({ rating: { count: 0 }, viewerRating: null })
})

test('a rating with text is published as a note', async ({ person, server }) => {
  const merchant = await server.login('MERCHANT')
  const user = await server.newUser('+999007770602')
  const shop = await createShop(merchant.api, 'Carambola Cafe')
  const { page } = await person({ as: user, device: 'desktop' })
  await page.goto(`/shops/${shop}`)
  await expect(page.getByText('No notes about this shop yet.')).toBeVisible()
  await page.getByRole('button', { name: 'Rate this shop' }).click()
  const sheet = page.getByRole('dialog')
  await sheet.getByRole('radio', { name: '5 stars, excellent' }).check()
  const environment = sheet.getByRole('radiogroup', { name: 'Environment' })
  await environment.getByRole('radio', { name: /^4 stars/ }).check()
  await sheet.getByLabel('Title').fill('Sweet and sour')
  await sheet.getByRole('button', { name: 'Publish' }).click()
  const content = sheet.getByLabel('Your note')
  await expect(content).toBeFocused()
  await expect(content).toHaveAttribute('aria-invalid', 'true')
  await content.fill('Take the corner table.')
  await sheet.getByRole('button', { name: 'Publish' }).click()
  await expect(sheet).toBeHidden()

  const note = page.getByRole('article').filter({ hasText: 'Sweet and sour' })
  await expect(note.getByRole('img', { name: '5 out of 5 stars' })).toBeVisible()
  await note.getByRole('link', { name: 'Sweet and sour' }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'Sweet and sour' })).toBeVisible()
  await expect(page.getByRole('img', { name: '5 out of 5 stars' })).toBeVisible()
  const read = await user.api(
    `query ($id: ID!) { shop(id: $id) { viewerRating { stars taste environment } notes { edges { node { authorRating { stars } } } } } }`,
    { id: shop },
  )
  expect(read.shop).toEqual({
    viewerRating: { stars: 5, taste: null, environment: 4 },
    notes: { edges: [{ node: { authorRating: { stars: 5 } } }] },
  })
})

test('owners see no rate button, and visitors sign in first', async ({ person, server }) => {
  const owner = (await person({ as: 'MERCHANT' })).page
  await owner.goto(`/shops/${server.shop}`)
  await expect(owner.getByRole('heading', { name: 'Ratings' })).toBeVisible()
  await expect(owner.getByLabel('Loading')).toHaveCount(0)
  await expect(owner.getByRole('button', { name: 'Rate this shop' })).toHaveCount(0)

  // A shop that they have bought since: the server refuses.
  await changeResponses(owner, 'OwnShops', ({ me }) => (me.shops.edges = []))
  await owner.reload()
  await owner.getByRole('button', { name: 'Rate this shop' }).click()
  const sheet = owner.getByRole('dialog')
  await sheet.getByRole('radio', { name: '1 star, terrible' }).check()
  await sheet.getByRole('button', { name: 'Submit rating' }).click()
  await expect(sheet.getByRole('alert')).toHaveText('You can’t buy from or rate your own shop.')

  const { page } = await person()
  await page.goto(`/shops/${server.shop}`)
  await page.getByRole('button', { name: 'Rate this shop' }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'Sign in' })).toBeVisible()
  await expect(page).toHaveURL(new RegExp(`to=%2Fshops%2F${server.shop}`))
})

test('cards show averages with their counts', async ({ person }) => {
  const { page } = await person()
  await changeResponses(page, 'SearchShops', ({ shops }) => {
    const [many, few, none] = shops.edges.map(({ node }: any) => node)
    Object.assign(many, { rating: { ...many.rating, average: 4.64, count: 1280 } })
    Object.assign(few, { rating: { ...few.rating, average: 5, count: 2 } })
    Object.assign(none, { rating: { ...none.rating, average: null, count: 0 } })
  })
  await page.goto('/search')
  const cards = page.getByRole('article')
  await expect(cards.nth(0)).toContainText('4.6 out of 5 stars, 1,280 ratings')
  await expect(cards.nth(1)).toContainText(/5\.0 out of 5 stars, 2 ratings\s*New/)
  await expect(cards.nth(2)).toContainText('New')
  await expect(cards.nth(2)).not.toContainText('stars')
  await a11y(page)
})
