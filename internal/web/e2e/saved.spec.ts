import { a11y, expect, test } from './fixtures.ts'
import { createShop, publishNote } from './testdata.ts'

test('saved shops and notes are listed', async ({ person, server }) => {
  const merchant = await server.login('MERCHANT')
  const user = await server.newUser('+999007770611')
  const shop = await createShop(merchant.api, 'Bookmark Bakery')
  const note = await publishNote(merchant.api, shop, 'Worth a bookmark')
  const { page } = await person({ as: user })

  // From a card: the page of the shop and the list show it too.
  await page.goto('/search?q=bookmark')
  const save = page.getByRole('button', { name: 'Save “Bookmark Bakery”' })
  await expect(save).toHaveAttribute('aria-pressed', 'false')
  await save.click()
  await expect(save).toHaveAttribute('aria-pressed', 'true')
  await page.getByRole('link', { name: 'Bookmark Bakery' }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'Bookmark Bakery' })).toBeVisible()
  await expect(save).toHaveAttribute('aria-pressed', 'true')
  await expect(save).toContainText('1')
  await page.goto(`/notes/${note}`)
  const saveNote = page.getByRole('button', { name: 'Save “Worth a bookmark”' })
  await saveNote.click()
  await expect(saveNote).toHaveAttribute('aria-pressed', 'true')
  await expect(saveNote).toContainText('1')

  await page.goto('/me')
  await page.getByRole('link', { name: 'Saved' }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'Saved' })).toBeVisible()
  await expect(page.getByRole('article')).toHaveCount(1)
  await expect(page.getByRole('article')).toContainText('Bookmark Bakery')
  await a11y(page)
  await page.getByRole('link', { name: 'Notes', exact: true }).click()
  await expect(page.getByRole('article')).toContainText('Worth a bookmark')
  await expect(page).toHaveURL(/part=notes/)
  await a11y(page)

  // A removed one can be saved again until the next visit.
  await saveNote.click()
  await expect(saveNote).toHaveAttribute('aria-pressed', 'false')
  await expect
    .poll(
      async () =>
        (await user.api(`query ($id: ID!) { note(id: $id) { isSaved } }`, { id: note })).note
          .isSaved,
    )
    .toBe(false)
  await expect(page.getByRole('article')).toHaveCount(1)
  await page.reload()
  await expect(page.getByText('No saved notes yet.')).toBeVisible()
})

test('visitors sign in to save, and a rejected save is rolled back', async ({ person, server }) => {
  const visitor = (await person()).page
  await visitor.goto(`/shops/${server.shop}`)
  await visitor
    .getByRole('button', { name: /^Save “/ })
    .first()
    .click()
  await expect(visitor.getByRole('heading', { level: 1, name: 'Sign in' })).toBeVisible()

  const { page } = await person({ as: await server.newUser('+999007770612') })
  let answer!: () => void
  const wait = new Promise<void>((resolve) => (answer = resolve))
  await page.route('**/graphql', async (route) => {
    if (route.request().postDataJSON().operationName !== 'SaveShop') return route.continue()
    await wait
    const refused = {
      code: 'LIMIT_REACHED',
      message: 'Too many saves.',
      field: null,
      retryAfterSeconds: 120,
      __typename: 'UserError',
    }
    const saveShop = { shop: null, userErrors: [refused], __typename: 'SaveShopPayload' }
    return route.fulfill({ json: { data: { saveShop } } })
  })
  await page.goto(`/shops/${server.shop}`)
  const save = page.locator('header').getByRole('button', { name: /^Save “/ })
  await save.click()
  // Shown immediately, before the response.
  await expect(save).toHaveAttribute('aria-pressed', 'true')
  answer()
  await expect(save).toHaveAttribute('aria-pressed', 'false')
  await expect(page.getByText('You’ve reached the limit. Try again in 2 min.')).toBeVisible()
})
