import { expect, test } from './fixtures.ts'

for (const device of ['phone', 'desktop'] as const) {
  test(`the first page has a heading on a ${device}`, async ({ person }) => {
    const { page } = await person({ device })
    // Until the server lists its demo accounts, which the playground asks for.
    await page.route('**/demo/logins', (route) => route.fulfill({ json: { logins: [] } }))
    await page.goto('/')
    await expect(page.getByRole('heading', { level: 1 })).toContainText('Tandian')
  })
}
