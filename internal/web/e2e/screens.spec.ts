import { a11y, shot, test, type Looks, type Page } from './fixtures.ts'
import {
  admins,
  customers,
  everybody,
  make,
  merchants,
  quiet,
  type Seen,
  type Things,
} from './tour.ts'

// Every screen, as axe and as people see it.

// Of device, language and colours any two are seen together: four of the eight ways to mix them.
const looks: readonly (Looks & { name: string })[] = [
  { name: 'phone-en-light', device: 'phone', locale: 'en-US', colorScheme: 'light' },
  { name: 'phone-zh-dark', device: 'phone', locale: 'zh-CN', colorScheme: 'dark' },
  { name: 'desktop-en-dark', device: 'desktop', locale: 'en-US', colorScheme: 'dark' },
  { name: 'desktop-zh-light', device: 'desktop', locale: 'zh-CN', colorScheme: 'light' },
]

let things: Promise<Things> | undefined

for (const look of looks) {
  test.describe(look.name, () => {
    const tour = async (page: Page, screens: Seen[]) => {
      for (const { name, path, ready } of screens) {
        await test.step(name, async () => {
          await page.goto(path)
          await ready(page)
          await quiet(page)
          await shot(page, `${look.name}/${name}`)
          await a11y(page)
        })
      }
    }
    const opened = { ...look, reducedMotion: 'reduce' as const }

    test('what everybody sees', async ({ person, server }) => {
      test.setTimeout(180_000)
      const made = await (things ??= make(server))
      const { page, expectConsole } = await person(opened)
      expectConsole(/status of 404/, 'the status of the last one')
      await tour(page, everybody(made, server.shop))
    })
    test('what customers see', async ({ person, server }) => {
      test.setTimeout(180_000)
      const made = await (things ??= make(server))
      const { page } = await person({ ...opened, as: 'CUSTOMER' })
      await tour(page, customers(made))
    })
    test('what merchants and administrators see', async ({ person, server }) => {
      test.setTimeout(180_000)
      const made = await (things ??= make(server))
      await tour((await person({ ...opened, as: 'MERCHANT' })).page, merchants(made, server.shop))
      await tour((await person({ ...opened, as: 'ADMIN' })).page, admins)
    })
  })
}
