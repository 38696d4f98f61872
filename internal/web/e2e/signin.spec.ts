import { expect, stack, test } from './fixtures.ts'

test('a new user signs up and returns to the requested page', async ({ person, server }) => {
  const { page } = await person({ device: 'desktop' })
  const phone = '+999007770101'
  await page.goto('/')
  await page.getByRole('link', { name: 'Orders' }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'Sign in' })).toBeFocused()

  await page.getByLabel('Phone').fill('12')
  await page.getByRole('button', { name: 'Send code' }).click()
  await expect(page.getByText('Enter a valid phone number.')).toBeVisible()
  await expect(page.getByLabel('Phone')).toHaveAttribute('aria-invalid', 'true')
  await expect(page.getByLabel('Phone')).toBeFocused()

  await page.getByLabel('Phone').fill(phone)
  await page.getByRole('button', { name: 'Send code' }).click()
  await expect(page.getByText('Code sent.')).toBeVisible()
  await expect(page.getByLabel('Code')).toBeFocused()
  const code = await server.code(phone)
  await page.getByLabel('Code').fill(code === '000000' ? '111111' : '000000')
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await expect(page.getByText('That code is wrong or has expired.')).toBeVisible()
  await expect(page.getByLabel('Code')).toBeFocused()

  await page.getByLabel('Code').fill(code)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'Orders' })).toBeFocused()
  await page.reload()
  await expect(page.getByRole('heading', { level: 1, name: 'Orders' })).toBeVisible()
})

test('demo accounts are offered on embedded servers only', async ({ person }) => {
  const { page } = await person()
  await page.goto('/signin')
  await expect(page.getByRole('heading', { level: 1, name: 'Sign in' })).toBeVisible()
  if (stack === 'stores') {
    // Stores offer no demo accounts.
    const { logins } = await (await page.request.get('/demo/logins')).json()
    expect(logins).toEqual([])
    await expect(page.getByRole('button', { name: 'Customer' })).toHaveCount(0)
    return
  }
  await page.getByRole('button', { name: 'Customer' }).click()
  await expect(page.getByText('Welcome, Demo customer!')).toBeVisible()
  await expect(page.getByRole('region', { name: 'Nearby' })).toBeVisible()
})

test('a session ended elsewhere ends here too', async ({ person, server }) => {
  const session = await server.newUser('+999007770102')
  const { page, expectConsole } = await person({ as: session })
  await page.goto('/me')
  await expect(page.getByRole('button', { name: /Check in/ })).toBeVisible()
  expectConsole(/401/, 'what a request of an ended session is answered')
  await session.api(`mutation { logout { userErrors { message } } }`)
  await page.goto('/orders')
  await expect(page.getByRole('heading', { level: 1, name: 'Sign in' })).toBeVisible()
})

test('the sign-in never leads to another site', async ({ person, server }) => {
  const session = await server.newUser('+999007770103')
  const { page } = await person({ as: session })
  await page.goto('/signin?to=' + encodeURIComponent('//elsewhere.example/'))
  await expect(page.getByRole('region', { name: 'Nearby' })).toBeVisible()
  expect(new URL(page.url()).pathname).toBe('/')
})

for (const to of [
  '//elsewhere.example/',
  '/\\elsewhere.example/',
  '/\t/elsewhere.example/',
  '/.//elsewhere.example/',
  'https://elsewhere.example/',
]) {
  test(`${JSON.stringify(to)} is not a return path`, async ({ person, server }) => {
    const session = await server.login('CUSTOMER')
    const { page } = await person({ as: session })
    await page.goto('/signin?to=' + encodeURIComponent(to))
    await expect(page.getByRole('region', { name: 'Nearby' })).toBeVisible()
    expect(page.url()).toBe(`${server.url}/`)
  })
}

test('the return path survives settings and a wrong code', async ({ person, server }) => {
  const phone = '+999007770105'
  const { page } = await person()
  await page.goto('/orders?status=used#list')
  await expect(page.getByRole('heading', { level: 1, name: 'Sign in' })).toBeVisible()
  await page.getByRole('link', { name: 'Language and theme' }).click()
  await page.getByLabel('Language').selectOption('zh')
  await page.getByRole('button', { name: '返回' }).click()
  await expect(page.getByRole('heading', { level: 1, name: '登录' })).toBeVisible()

  await page.getByLabel('手机号').fill(phone)
  await page.getByRole('button', { name: '获取验证码' }).click()
  const code = await server.code(phone)
  const field = page.getByLabel('验证码', { exact: true })
  const go = page.getByRole('button', { name: '登录', exact: true })
  await field.fill(code === '000000' ? '111111' : '000000')
  await go.click()
  await expect(field).toHaveAttribute('aria-invalid', 'true')
  await field.fill(code)
  await go.click()
  await expect(page.getByRole('heading', { level: 1, name: '订单' })).toBeVisible()
  expect(page.url()).toBe(`${server.url}/orders?status=used#list`)
})

const fullWidth = (code: string) => code.replace(/\d/g, (d) => String.fromCodePoint(0xff10 + +d))

for (const [i, [how, write]] of (
  [
    ['with a space in it', (code) => `${code.slice(0, 3)} ${code.slice(3)} `],
    ['in full-width digits', fullWidth],
    ['with another dash', (code) => `${code.slice(0, 3)}\u2011${code.slice(3)}`],
    [
      'with invisible characters',
      (code) => `\u202a${code.slice(0, 2)}\u200b${code.slice(2)}\u202c`,
    ],
  ] as const satisfies readonly [string, (code: string) => string][]
).entries()) {
  test(`a code ${how} signs in`, async ({ person, server }) => {
    const phone = `+99900777011${i}`
    const { page } = await person()
    await page.goto('/signin?to=/settings')
    await page.getByLabel('Phone').fill(phone)
    await page.getByRole('button', { name: 'Send code' }).click()
    const code = await server.code(phone)
    // An invalid code uses up no attempt.
    const logins: string[] = []
    page.on('request', (request) => {
      if (request.postData()?.includes('"Login"')) logins.push(request.url())
    })
    await page.getByLabel('Code', { exact: true }).fill('12345O')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await expect(page.getByText('Enter the 6-digit code.')).toBeVisible()
    expect(logins).toEqual([])
    await page.getByLabel('Code', { exact: true }).fill(write(code))
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await expect(page.getByRole('heading', { level: 1, name: 'Settings' })).toBeVisible()
    expect(logins).toHaveLength(1)
  })
}
