import { expect, test, type Page } from './fixtures.ts'
import { picture, transparentPicture } from './pictures.ts'
import { follow } from './testdata.ts'

test('a daily check-in earns five points', async ({ person, server }) => {
  const session = await server.newUser('+999007770401')
  const { page } = await person({ as: session })
  await page.goto('/me')
  const card = page.locator('[data-checked-in]')
  const points = page.locator('[data-points]')
  await expect(card).toHaveAttribute('data-checked-in', 'false')
  await expect(card).toHaveAttribute('data-streak', '0')
  await expect(points).toHaveAttribute('data-points', '0')
  await expect(page.locator('td[data-checked]')).toHaveCount(0)

  await page.getByRole('button', { name: 'Check in', exact: true }).click()
  await expect(page.getByText('+5 points')).toBeVisible()
  const checkedIn = async () => {
    await expect(page.getByRole('button', { name: 'Checked in today' })).toBeVisible()
    await expect(card).toHaveAttribute('data-checked-in', 'true')
    await expect(card).toHaveAttribute('data-streak', '1')
    await expect(points).toHaveAttribute('data-points', '5')
    await expect(card.getByText('1-day streak')).toBeVisible()
    await expect(card.getByText('1 check-in')).toBeVisible()
    await expect(page.locator('td[data-checked]')).toHaveCount(1)
    await expect(page.locator('td[data-checked] [aria-current="date"]')).toHaveCount(1)
  }
  await checkedIn()
  // The day is the server's.
  const { me } = await session.api(`{ me { points checkIns { month days count streak } } }`)
  expect(me).toMatchObject({ points: 5, checkIns: { count: 1, streak: 1 } })
  const marked = page.locator(`table[data-month="${me.checkIns.month}"] td[data-checked]`)
  await expect(marked).toHaveAttribute('data-day', String(me.checkIns.days[0]))

  await page.getByRole('button', { name: 'Checked in today' }).click()
  await expect(page.getByText('You already checked in today.')).toBeVisible()
  await checkedIn()
  await page.reload()
  await checkedIn()

  // The previous month is empty, and the current one is one click away.
  await page.getByRole('button', { name: 'Previous month' }).click()
  await expect(card.getByText('0 check-ins')).toBeVisible()
  await expect(page.locator('td[data-checked]')).toHaveCount(0)
  await page.getByRole('button', { name: 'Next month' }).click()
  await expect(page.getByRole('button', { name: 'Next month' })).toBeDisabled()
  await expect(page.locator('td[data-checked]')).toHaveCount(1)
})

test('profile changes show to others, errors at their fields', async ({ person, server }) => {
  const session = await server.newUser('+999007770402')
  const { page } = await person({ as: session })
  await page.goto('/me')
  await page.getByRole('link', { name: 'Edit profile' }).click()
  const nickname = page.getByLabel('Nickname')
  await expect(nickname).not.toHaveValue('')
  await nickname.fill('   ')
  await page.getByLabel('City').fill('Hangzhou 杭州')
  await page.getByLabel('About you').fill('Noodles first.')
  await page.getByLabel('Gender').selectOption('FEMALE')
  await page.getByLabel('Birthday').fill('1990-02-28')
  await page.getByRole('button', { name: 'Save' }).click()
  await expect(page.getByText('Enter 1 to 30 characters.')).toBeVisible()
  await expect(nickname).toHaveAttribute('aria-invalid', 'true')
  await expect(nickname).toBeFocused()
  await expect(page.getByLabel('City')).toHaveValue('Hangzhou 杭州')

  await nickname.fill('Noodle Nan')
  await page.getByRole('button', { name: 'Save' }).click()
  await expect(page.getByRole('heading', { level: 2, name: 'Noodle Nan' })).toBeVisible()
  await page.goto('/me/edit')
  await expect(page.getByLabel('Gender')).toHaveValue('FEMALE')
  await expect(page.getByLabel('Birthday')).toHaveValue('1990-02-28')

  const other = await person()
  await other.page.goto(`/users/${session.userId}`)
  await expect(other.page.getByRole('heading', { level: 1, name: 'Noodle Nan' })).toBeVisible()
  await expect(other.page.getByText('Hangzhou 杭州')).toBeVisible()
  await expect(other.page.getByText('Noodles first.')).toBeVisible()
  await expect(other.page.getByText('1990')).toHaveCount(0)
})

test('a password signs in on another device', async ({ person, server }) => {
  const phone = '+999007770403'
  const { page } = await person({ as: await server.newUser(phone) })
  await page.goto('/me/edit')
  const field = page.getByLabel('New password')
  // A first password needs a code, and the form asks for it.
  await field.fill('a long enough word')
  await page.getByRole('button', { name: 'Set password' }).click()
  await page.getByLabel('Your phone number').fill(phone)
  await page.getByRole('button', { name: 'Send code' }).click()
  await page.getByLabel('Code', { exact: true }).fill(await server.code(phone))
  await field.fill('short')
  await page.getByRole('button', { name: 'Set password' }).click()
  await expect(field).toHaveAttribute('aria-invalid', 'true')
  await field.fill('a long enough word')
  await page.getByRole('button', { name: 'Set password' }).click()
  await expect(page.getByText('Password set.')).toBeVisible()
  await expect(field).toHaveValue('')
  // This device stays signed in.
  await page.goto('/me')
  await expect(page.getByRole('button', { name: 'Sign out' })).toBeVisible()

  const other = (await person({ device: 'desktop' })).page
  await other.goto('/signin?to=/me')
  await other.getByRole('button', { name: 'Use a password instead' }).click()
  await other.getByLabel('Phone').fill(phone)
  await other.getByLabel('Password').fill('short')
  await other.getByRole('button', { name: 'Sign in', exact: true }).click()
  await expect(other.getByRole('alert').or(other.locator('[aria-invalid]')).first()).toBeVisible()
  await other.getByLabel('Password').fill('a long enough word')
  await other.getByRole('button', { name: 'Sign in', exact: true }).click()
  await expect(other.getByRole('heading', { level: 1, name: 'Me' })).toBeVisible()

  // The first device lists both and signs the other one out.
  await page.goto('/me/edit')
  await expect(page.getByText('This device')).toBeVisible()
  await page.getByRole('button', { name: 'Sign out all other devices' }).click()
  await expect(page.getByText('Signed out.', { exact: true })).toBeVisible()
  await other.goto('/me')
  await expect(other.getByRole('heading', { level: 1, name: 'Sign in' })).toBeVisible()

  // A change needs the current password.
  await field.fill('another long word')
  await page.getByLabel('Current password').fill('not the current one')
  await page.getByRole('button', { name: 'Set password' }).click()
  await expect(page.getByLabel('Current password')).toHaveAttribute('aria-invalid', 'true')
  await page.getByLabel('Current password').fill('a long enough word')
  await page.getByRole('button', { name: 'Set password' }).click()
  await expect(page.getByText('Password set.')).toBeVisible()
})

test('the profile switches the language', async ({ person, server }) => {
  const { page } = await person({ as: await server.newUser('+999007770404') })
  await page.goto('/me')
  await expect(page.locator('html')).toHaveAttribute('lang', 'en')
  await page.getByRole('button', { name: '中文' }).click()
  await expect(page.getByRole('heading', { level: 1, name: '我的' })).toBeVisible()
  await expect(page.locator('html')).toHaveAttribute('lang', 'zh-CN')
  await expect(page.getByRole('button', { name: '签到', exact: true })).toBeVisible()
  await page.reload()
  await expect(page.getByRole('button', { name: '退出登录' })).toBeVisible()
  await page.getByRole('button', { name: 'English' }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'Me' })).toBeVisible()
})

test('signing out ends the session on the server', async ({ person, server }) => {
  const session = await server.newUser('+999007770405')
  const { page } = await person({ as: session })
  await page.goto('/me')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await expect(page).toHaveURL(`${server.url}/`)
  await expect(page.getByRole('region', { name: 'Nearby' })).toBeVisible()
  const kept = await page.evaluate(() => localStorage.getItem('tandian.session'))
  expect(kept).toBeNull()
  await page.goto('/me')
  await expect(page.getByRole('heading', { level: 1, name: 'Sign in' })).toBeVisible()
  expect(await session.api(`{ me { id } }`)).toEqual({ me: null })
})

test('customers see no merchant or admin data', async ({ person, server }) => {
  const { page } = await person({ as: 'CUSTOMER' })
  const shop = `/merchant/shops/${server.shop}`
  const refused = async (path: string, role: string, words: string) => {
    await page.goto(path)
    await expect(page.locator(`[data-refused=${role}]`)).toBeVisible()
    await expect(page.getByText(words)).toBeVisible()
    const data = '[data-voucher], [data-order], [data-total], [data-cache], [data-queue], figure'
    await expect(page.locator(`:is(${data}), main form`)).toHaveCount(0)
    await expect(page.getByRole('article')).toHaveCount(0)
  }
  const merchants = 'This page is for merchants only.'
  for (const path of ['/merchant', '/merchant/redeem', '/merchant/shops/new', `${shop}/edit`])
    await refused(path, 'MERCHANT', merchants)
  for (const part of ['vouchers', 'orders', 'figures'])
    await refused(`${shop}?part=${part}`, 'MERCHANT', merchants)
  const asked = operations(page)
  await refused('/admin', 'ADMIN', 'This page is for admins only.')
  expect(asked).not.toContain('AdminGauges')
  expect(asked).not.toContain('AdminFigures')
  await page.getByRole('link', { name: 'Discover shops' }).click()
  await expect(page.getByRole('region', { name: 'Nearby' })).toBeVisible()

  const merchant = await person({ as: 'MERCHANT' })
  await merchant.page.goto('/admin')
  await expect(merchant.page.locator('[data-refused=ADMIN]')).toBeVisible()
  await expect(merchant.page.locator('[data-as-of]')).toHaveCount(0)
})

test('profiles show common followees', async ({ person, server }) => {
  const [ann, bob, both, other] = await Promise.all(
    ['06', '07', '08', '09'].map((n) => server.newUser(`+9990077704${n}`)),
  )
  if (!ann || !bob || !both || !other) throw new Error('missing users')
  await both.api(
    `mutation { updateProfile(input: {nickname: "Known to both"}) { userErrors { message } } }`,
  )
  await other.api(
    `mutation { updateProfile(input: {nickname: "Known to Bob"}) { userErrors { message } } }`,
  )
  await follow(bob.api, both.userId)
  await follow(bob.api, other.userId)
  const { page } = await person({ as: ann })
  await page.goto(`/users/${bob.userId}`)
  await expect(page.getByRole('button', { name: /^Follow/ })).toBeVisible()
  await expect(page.getByText('You both follow')).toHaveCount(0)

  // After following the same person, they have a common followee.
  await page.goto(`/users/${both.userId}`)
  const button = page.getByRole('button', { name: /^Follow/ })
  await button.click()
  await expect(button).toHaveAttribute('aria-pressed', 'true')
  await page.goto(`/users/${bob.userId}`)
  const common = page.getByRole('link', { name: /You both follow/ })
  await expect(common).toContainText('Known to both')
  await expect(common).not.toContainText('Known to Bob')
  await common.click()
  await expect(page.getByRole('heading', { level: 1, name: /^Followed by you and/ })).toBeVisible()
  await expect(page.getByRole('link', { name: /Known to both/ })).toBeVisible()
  await expect(page.getByText('Known to Bob')).toHaveCount(0)
})

/** Collects the names of the operations that the page sends from now on. */
function operations(page: Page): string[] {
  const names: string[] = []
  page.on('request', (request) => {
    if (request.url().endsWith('/graphql')) names.push(request.postDataJSON()?.operationName)
  })
  return names
}

for (const [what, phone, file, ending] of [
  ['transparent', '+999007770413', transparentPicture(700, 500), /\.png$/],
  ['opaque', '+999007770414', picture(700, 500), /\.jpg$/],
] as const) {
  test(`a ${what} avatar stays ${what}`, async ({ person, server }) => {
    const session = await server.newUser(phone)
    const { page } = await person({ as: session })
    await page.goto('/me/edit')
    await page
      .locator('input[data-input=avatar]')
      .setInputFiles({ name: 'face.png', mimeType: 'image/png', buffer: file })
    await expect(page.getByRole('button', { name: 'Remove photo' })).toBeVisible()
    await page.getByRole('button', { name: 'Save' }).click()
    await expect(page.getByText('Saved.')).toBeVisible()
    const { me } = await session.api(`{ me { avatarUrl } }`)
    expect(me.avatarUrl).toMatch(ending)
  })
}
