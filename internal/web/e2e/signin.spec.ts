import { expect, stack, test } from './fixtures.ts'

test('somebody new signs up by a code, and is led to where it was wanted', async ({
  person,
  server,
}) => {
  const { page } = await person({ device: 'desktop' })
  const phone = '+999007770101'
  await page.goto('/')
  await page.getByRole('link', { name: 'Orders' }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'Sign in' })).toBeFocused()

  await page.getByLabel('Phone').fill('12')
  await page.getByRole('button', { name: 'Send code' }).click()
  await expect(page.getByText('This is not a phone number.')).toBeVisible()
  await expect(page.getByLabel('Phone')).toHaveAttribute('aria-invalid', 'true')
  await expect(page.getByLabel('Phone')).toBeFocused()

  await page.getByLabel('Phone').fill(phone)
  await page.getByRole('button', { name: 'Send code' }).click()
  await expect(page.getByText('The code is on its way.')).toBeVisible()
  await expect(page.getByLabel('Code')).toBeFocused()
  const code = await server.code(phone)
  await page.getByLabel('Code').fill(code === '000000' ? '111111' : '000000')
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await expect(page.getByText('The code is wrong or too old.')).toBeVisible()
  await expect(page.getByLabel('Code')).toBeFocused()

  await page.getByLabel('Code').fill(code)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'Orders' })).toBeFocused()
  await page.reload()
  await expect(page.getByRole('heading', { level: 1, name: 'Orders' })).toBeVisible()
})

test('a visitor of the embedded program may sign in as anybody of the demo', async ({ person }) => {
  const { page } = await person()
  await page.goto('/signin')
  await expect(page.getByRole('heading', { level: 1, name: 'Sign in' })).toBeVisible()
  if (stack === 'stores') {
    // There it is not offered: the list is empty.
    const { logins } = await (await page.request.get('/demo/logins')).json()
    expect(logins).toEqual([])
    await expect(page.getByRole('button', { name: 'a customer' })).toHaveCount(0)
    return
  }
  await page.getByRole('button', { name: 'a customer' }).click()
  await expect(page.getByText('Hello, Demo customer!')).toBeVisible()
  await expect(page.getByRole('region', { name: 'Nearby' })).toBeVisible()
})

test('a session that ended elsewhere is ended here too', async ({ person, server }) => {
  const session = await server.newcomer('+999007770102')
  const { page, expectConsole } = await person({ as: session })
  await page.goto('/me')
  await expect(page.getByRole('button', { name: /Check in/ })).toBeVisible()
  expectConsole(/401/, 'what a request of an ended session is answered')
  await session.ask(`mutation { logout { userErrors { message } } }`)
  await page.goto('/orders')
  await expect(page.getByRole('heading', { level: 1, name: 'Sign in' })).toBeVisible()
})

test('no address outside leads away from the sign-in', async ({ person, server }) => {
  const session = await server.newcomer('+999007770103')
  const { page } = await person({ as: session })
  await page.goto('/signin?to=' + encodeURIComponent('//elsewhere.example/'))
  await expect(page.getByRole('region', { name: 'Nearby' })).toBeVisible()
  expect(new URL(page.url()).pathname).toBe('/')
})
