import { a11y, shot, test, type PersonOptions, type Page } from './fixtures.ts'
import {
  adminScreens,
  customerScreens,
  publicScreens,
  createTourData,
  merchantScreens,
  waitUntilLoaded,
  type TourScreen,
  type TourData,
} from './tour.ts'

// Every screen, for axe and as a screenshot.

// Pairwise combinations of device, language and theme: four of eight.
const looks: readonly (PersonOptions & { name: string })[] = [
  { name: 'phone-en-light', device: 'phone', locale: 'en-US', colorScheme: 'light' },
  { name: 'phone-zh-dark', device: 'phone', locale: 'zh-CN', colorScheme: 'dark' },
  { name: 'desktop-en-dark', device: 'desktop', locale: 'en-US', colorScheme: 'dark' },
  { name: 'desktop-zh-light', device: 'desktop', locale: 'zh-CN', colorScheme: 'light' },
]

let tourData: Promise<TourData> | undefined

for (const look of looks) {
  test.describe(look.name, () => {
    const tour = async (page: Page, screens: TourScreen[]) => {
      for (const { name, path, ready } of screens) {
        await test.step(name, async () => {
          await page.goto(path)
          await ready(page)
          await waitUntilLoaded(page)
          await shot(page, `${look.name}/${name}`)
          await a11y(page)
        })
      }
    }
    const opened = { ...look, reducedMotion: 'reduce' as const }

    test('public screens', async ({ person, server }) => {
      test.setTimeout(180_000)
      const made = await (tourData ??= createTourData(server))
      const { page, expectConsole } = await person(opened)
      expectConsole(/status of 404/, 'the last screen is a 404')
      await tour(page, publicScreens(made, server.shop))
    })
    test('customer screens', async ({ person, server }) => {
      test.setTimeout(180_000)
      const made = await (tourData ??= createTourData(server))
      const { page } = await person({ ...opened, as: 'CUSTOMER' })
      await tour(page, customerScreens(made))
    })
    test('merchant and admin screens', async ({ person, server }) => {
      test.setTimeout(180_000)
      const made = await (tourData ??= createTourData(server))
      await tour(
        (await person({ ...opened, as: 'MERCHANT' })).page,
        merchantScreens(made, server.shop),
      )
      await tour((await person({ ...opened, as: 'ADMIN' })).page, adminScreens)
    })
  })
}
