import { expect, test, type Page } from './fixtures.ts'
import { picture } from './pictures.ts'
import { follow, publishNote } from './testdata.ts'

test('a published note reaches followers live', async ({ person, server }) => {
  const author = await server.newUser('+999007770301')
  const reader = await server.newUser('+999007770302')
  const { page } = await person({ as: reader, device: 'desktop' })

  // The reader follows the author on their profile.
  await page.goto(`/users/${author.userId}`)
  const button = page.getByRole('button', { name: /^Follow/ })
  await button.click()
  await expect(button).toHaveAttribute('aria-pressed', 'true')
  await page.getByRole('link', { name: 'Feed' }).click()
  await expect(page.locator('[data-feed-ready]')).toBeAttached()

  const writer = await person({ as: author })
  await writer.page.goto('/publish')
  await writer.page.getByRole('button', { name: 'Choose a shop' }).click()
  const dialog = writer.page.getByRole('dialog')
  await dialog.getByLabel('Shop, neighbourhood or street').fill('Second Ripple')
  await dialog.getByRole('button', { name: /Second Ripple Coffee/ }).click()
  await writer.page.getByLabel('Title').fill('The window seat')
  await writer.page.getByLabel('Your note').fill('Morning light.\nAsk for the small cup.')
  // As large as a phone photo: the browser shrinks it before the upload.
  await writer.page.locator('input[type=file]').setInputFiles({
    name: 'photo.png',
    mimeType: 'image/png',
    buffer: picture(2600, 1800),
  })
  await expect(writer.page.locator('[data-picture="done"]')).toHaveCount(1)
  // A reload keeps the draft.
  await writer.page.reload()
  await expect(writer.page.getByLabel('Title')).toHaveValue('The window seat')
  await expect(writer.page.locator('[data-picture="done"]')).toHaveCount(1)
  await writer.page.getByRole('button', { name: 'Publish' }).click()
  await expect(
    writer.page.getByRole('heading', { level: 1, name: 'The window seat' }),
  ).toBeVisible()
  await expect(loadedPictures(writer.page)).resolves.toBeGreaterThan(0)

  // The other window shows a badge, and the note on demand.
  await expect(page.getByRole('link', { name: /Feed.*1 new note/ })).toBeVisible()
  await expect(page.getByRole('heading', { name: 'The window seat' })).toHaveCount(0)
  await page.getByRole('button', { name: '1 new note' }).click()
  await expect(page.getByRole('heading', { name: 'The window seat' })).toBeVisible()
  await page.getByRole('link', { name: 'The window seat' }).click()

  // They comment on it.
  await page.getByLabel('Add a comment').fill('Which window?')
  await page.getByRole('button', { name: 'Send' }).click()
  await expect(page.locator('[data-comment]').getByText('Which window?')).toBeVisible()
  const like = page.getByRole('button', { name: /^Like “The window seat”/ })
  await like.click()
  await expect(like).toHaveAttribute('aria-pressed', 'true')
  await expect(like).toContainText('1')
  await writer.page.reload()
  await expect(writer.page.getByText('Which window?')).toBeVisible()
})

test('the feed recovers without a gap', async ({ person, server, network }) => {
  const author = await server.newUser('+999007770303')
  const reader = await server.newUser('+999007770304')
  await follow(reader.api, author.userId)
  const titles = ['one', 'two', 'three', 'four', 'five', 'six', 'seven'].map((n) => `Note ${n}`)
  const write = async (from: number, to: number) => {
    for (const title of titles.slice(from, to)) await publishNote(author.api, server.shop, title)
  }
  await write(0, 1)
  const { page, expectNetworkErrors } = await person({ as: reader, url: network.url })
  await page.goto('/feed')
  await expect(page.locator('[data-feed-ready]')).toBeAttached()
  await expect(page.getByRole('article')).toHaveCount(1)
  await write(1, 2)
  await expect(page.getByRole('button', { name: '1 new note' })).toBeVisible()

  expectNetworkErrors()
  await network.cut()
  await expect(page.locator('html')).toHaveAttribute('data-network', 'unreachable')
  await write(2, 4)
  await network.restore()
  await expect(page.getByRole('button', { name: '3 new notes' })).toBeVisible()

  await server.kill()
  await expect(page.locator('html')).toHaveAttribute('data-network', 'unreachable')
  await server.start()
  await write(4, 6)
  await expect(page.getByRole('button', { name: '5 new notes' })).toBeVisible()

  // Offline sockets freeze instead of closing.
  await page.context().setOffline(true)
  await write(6, 7)
  await page.context().setOffline(false)
  await expect(page.getByRole('button', { name: '6 new notes' })).toBeVisible()

  await page.getByRole('button', { name: '6 new notes' }).click()
  await expect(page.getByRole('article').getByRole('heading')).toHaveText(titles.toReversed())
  // A reload shows the same list.
  await page.reload()
  await expect(page.getByRole('article').getByRole('heading')).toHaveText(titles.toReversed())
})

test('the feed does not move while notes change', async ({ person, server }) => {
  const author = await server.newUser('+999007770305')
  const reader = await server.newUser('+999007770306')
  await follow(reader.api, author.userId)
  for (let i = 0; i < 14; i++) await publishNote(author.api, server.shop, `Old ${i}`)
  const { page } = await person({ as: reader })
  await page.goto('/feed')
  await expect(page.locator('[data-feed-ready]')).toBeAttached()
  const read = page.getByRole('article').nth(6)
  await read.scrollIntoViewIfNeeded()
  const title = await read.getByRole('heading').innerText()
  const place = () =>
    page
      .getByRole('heading', { name: title, exact: true })
      .evaluate((e) => e.getBoundingClientRect().top)
  const before = await place()
  const id = await publishNote(author.api, server.shop, 'New')
  await expect(page.getByRole('button', { name: '1 new note' })).toBeVisible()
  expect(Math.abs((await place()) - before)).toBeLessThan(2)

  await page.getByRole('link', { name: title, exact: true }).click()
  await expect(page.getByRole('heading', { level: 1, name: title })).toBeVisible()
  await page.goBack()
  await expect.poll(async () => Math.abs((await place()) - before)).toBeLessThan(2)

  // A deleted note is no longer announced.
  await author.api(`mutation ($id: ID!) { deleteNote(id: $id) { userErrors { message } } }`, {
    id,
  })
  await expect(page.getByRole('button', { name: '1 new note' })).toHaveCount(0)

  // Nor is a note by an unfollowed author.
  await publishNote(author.api, server.shop, 'Last')
  const tab = page.getByRole('link', { name: /^Feed/ })
  await expect(tab).toHaveAccessibleName(/1 new note/)
  await page.getByRole('link', { name: title, exact: true }).click()
  await page.getByRole('button', { name: /^Following/ }).click()
  await expect(tab).toHaveAccessibleName('Feed')
  await tab.click()
  await expect(page.getByText('Follow people to see their notes here.')).toBeVisible()
  await expect(page.getByRole('button', { name: '1 new note' })).toHaveCount(0)
})

test('rejected likes and follows are rolled back', async ({ person, server }) => {
  const author = await server.newUser('+999007770307')
  const reader = await server.newUser('+999007770308')
  const note = await publishNote(author.api, server.shop, 'Gone in a moment')
  const { page } = await person({ as: reader })
  await page.goto(`/notes/${note}`)
  const like = page.getByRole('button', { name: /^Like “/ })
  await expect(like).toHaveAttribute('aria-pressed', 'false')
  let answer!: () => void
  const wait = new Promise<void>((resolve) => (answer = resolve))
  await page.route('**/graphql', async (route) => {
    const { operationName } = route.request().postDataJSON()
    if (operationName === 'LikeNote') {
      await wait
      const refused = {
        code: 'NOT_FOUND',
        message: 'Note not found.',
        field: null,
        __typename: 'UserError',
      }
      const likeNote = { note: null, userErrors: [refused], __typename: 'LikeNotePayload' }
      return route.fulfill({ json: { data: { likeNote } } })
    }
    if (operationName === 'Follow') {
      await wait
      const refused = {
        code: 'LIMIT_REACHED',
        message: 'You follow 5000.',
        field: null,
        __typename: 'UserError',
      }
      const followed = { user: null, userErrors: [refused], __typename: 'FollowPayload' }
      return route.fulfill({ json: { data: { follow: followed } } })
    }
    return route.continue()
  })
  const button = page.getByRole('button', { name: /^Follow/ }).first()
  await like.click()
  await button.click()
  // Shown immediately, before the response.
  await expect(like).toHaveAttribute('aria-pressed', 'true')
  await expect(like).toContainText('1')
  await expect(button).toHaveAttribute('aria-pressed', 'true')
  answer()
  await expect(like).toHaveAttribute('aria-pressed', 'false')
  await expect(like).toContainText('0')
  await expect(button).toHaveAttribute('aria-pressed', 'false')
  await expect(page.getByText('This is no longer available.')).toBeVisible()
})

test('a quick unlike wins over its like', async ({ person, server }) => {
  const reader = await server.newUser('+999007770313')
  const note = await publishNote(reader.api, server.shop, 'Liked by mistake')
  const { page } = await person({ as: reader })
  let arrive!: () => void
  const late = new Promise<void>((resolve) => (arrive = resolve))
  await page.route('**/graphql', async (route) => {
    if (route.request().postDataJSON().operationName === 'LikeNote') await late
    return route.continue()
  })
  await page.goto(`/notes/${note}`)
  const answers: string[] = []
  page.on('response', (response) => {
    if (!response.url().endsWith('/graphql')) return
    const { operationName } = response.request().postDataJSON()
    if (/^(Like|Unlike)Note$/.test(operationName)) answers.push(operationName)
  })
  const like = page.getByRole('button', { name: /^Like “/ })
  await like.click()
  await expect(like).toHaveAttribute('aria-pressed', 'true')
  await like.click()
  await expect(like).toHaveAttribute('aria-pressed', 'false')
  arrive() // the first request was slow
  await expect.poll(() => answers).toEqual(['LikeNote', 'UnlikeNote'])
  await expect(like).toHaveAttribute('aria-pressed', 'false')
  const { note: there } = await reader.api(`query ($id: ID!) { note(id: $id) { isLiked } }`, {
    id: note,
  })
  expect(there.isLiked).toBe(false)
})

test('a comment draft is kept for its author', async ({ person, server }) => {
  const [one, other] = await Promise.all([
    server.newUser('+999007770309'),
    server.newUser('+999007770310'),
  ])
  const note = await publishNote(one.api, server.shop, 'Talked about')
  const { page } = await person({ as: one })
  await page.goto(`/notes/${note}`)
  const area = page.getByLabel('Add a comment')
  const held: (() => void)[] = []
  await page.route('**/graphql', async (route) => {
    if (route.request().postDataJSON().operationName === 'AddComment')
      await new Promise<void>((resolve) => held.push(resolve))
    return route.continue()
  })
  await area.fill('First')
  await page.getByRole('button', { name: 'Send' }).click()
  await expect.poll(() => held.length).toBe(1)
  await area.fill('Second')
  held[0]!()
  await expect(page.locator('[data-comment]').getByText('First')).toBeVisible()
  await expect(page.getByRole('button', { name: 'Send' })).not.toHaveAttribute('aria-busy')
  await expect(area).toHaveValue('Second')

  await page.unrouteAll({ behavior: 'wait' })
  await page.route('**/graphql', (route) => {
    if (route.request().postDataJSON().operationName !== 'AddComment') return route.continue()
    const late = { message: 'Too late.', path: ['addComment'], extensions: { code: 'TIMEOUT' } }
    return route.fulfill({ json: { data: null, errors: [late] } })
  })
  await page.getByRole('button', { name: 'Send' }).click()
  await expect(page.getByText('We couldn’t confirm that your comment was posted.')).toBeVisible()
  await page.reload()
  await expect(area).toHaveValue('Second')

  // Another user signs in on the same page.
  const session = JSON.stringify({ token: other.token, userId: other.userId })
  await page.evaluate((kept) => localStorage.setItem('tandian.session', kept), session)
  await page.reload()
  await expect(area).toHaveValue('')
})

test('an unconfirmed note is not sent again automatically', async ({ person, server }) => {
  const { page } = await person({ as: await server.newUser('+999007770311') })
  await page.route('**/graphql', (route) => {
    if (route.request().postDataJSON().operationName !== 'PublishNote') return route.continue()
    const late = { message: 'Too late.', path: ['publishNote'], extensions: { code: 'TIMEOUT' } }
    return route.fulfill({ json: { data: null, errors: [late] } })
  })
  await page.goto(`/publish?shop=${server.shop}`)
  await page.getByLabel('Title').fill('Perhaps there')
  await page.getByLabel('Your note').fill('Or not.')
  await page.getByRole('button', { name: 'Publish' }).click()
  await expect(page.getByText('We couldn’t confirm that your note was published.')).toBeVisible()

  // Sent again, the note is published, and screen readers announce its title.
  await page.unrouteAll({ behavior: 'wait' })
  await page.getByRole('button', { name: 'Publish again' }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'Perhaps there' })).toBeFocused()
})

test('a rejected picture shows why and keeps the focus', async ({ person, server }) => {
  const { page, expectConsole } = await person({ as: await server.newUser('+999007770312') })
  expectConsole(/413/, 'what is too large')
  await page.goto('/publish')
  const files = [1, 2].map((n) => ({
    name: `${n}.png`,
    mimeType: 'image/png',
    buffer: picture(200 + n, 100),
  }))
  const heic = { name: 'a.heic', mimeType: 'image/heic', buffer: Buffer.alloc(12e6) }
  await page.locator('input[type=file]').setInputFiles([...files, heic])
  await expect(page.getByText('This is too large.')).toBeVisible()
  await expect(page.locator('[data-picture="done"]')).toHaveCount(2)
  const remove = (n: number) => page.getByRole('button', { name: `Remove photo ${n}` })
  await remove(2).press('Enter')
  await expect(page.locator('[data-picture]')).toHaveCount(2)
  await expect(remove(2)).toBeFocused()
  await remove(2).press('Enter')
  await expect(page.locator('input[type=file]')).toBeFocused()
})

/** Waits for loaded pictures and returns their number. */
async function loadedPictures(page: Page): Promise<number> {
  const count = () =>
    page
      .locator('main img')
      .evaluateAll((all) => all.filter((e) => (e as HTMLImageElement).naturalWidth > 300).length)
  await expect.poll(count).toBeGreaterThan(0)
  return count()
}
