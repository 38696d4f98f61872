import { readFileSync } from 'node:fs'

import { expect, test, type Page, type Person } from './fixtures.ts'
import { picture } from './pictures.ts'
import {
  adminScreens,
  customerScreens,
  publicScreens,
  createTourData,
  merchantScreens,
  waitUntilLoaded,
  type TourScreen,
} from './tour.ts'
import { unsupportedInScript, unsupportedInStyle } from '../app/scripts/oldBrowsers.mjs'

// The oldest supported browsers are not available. This removes newer built-ins instead.

/** Removes the built-ins that Chrome 97, Firefox 102 or Safari 15.4 lacks. */
async function removeNewerBuiltIns({ context }: Person): Promise<void> {
  await context.addInitScript(() => {
    const world = globalThis as any
    const without: [any, string[]][] = [
      [
        Array.prototype,
        ['toReversed', 'toSorted', 'toSpliced', 'with', 'findLast', 'findLastIndex'],
      ],
      [String.prototype, ['isWellFormed', 'toWellFormed']],
      [Array, ['fromAsync']],
      [Object, ['groupBy']],
      [Map, ['groupBy']],
      [Promise, ['withResolvers', 'try']],
      [URL, ['canParse', 'parse']],
      [Response, ['json']],
      [world.AbortSignal, ['timeout', 'any']],
      [world.AbortSignal.prototype, ['throwIfAborted']],
      [Intl, ['Segmenter', 'DurationFormat', 'supportedValuesOf']],
      [Crypto.prototype, ['randomUUID']],
      [Set.prototype, ['union', 'intersection', 'difference', 'symmetricDifference', 'isSubsetOf']],
      [Element.prototype, ['checkVisibility', 'setHTMLUnsafe']],
      [HTMLElement.prototype, ['showPopover', 'hidePopover', 'togglePopover', 'popover']],
      [HTMLInputElement.prototype, ['showPicker']],
      [Document.prototype, ['startViewTransition']],
      [world, ['structuredClone', 'requestIdleCallback', 'scheduler', 'Iterator', 'onscrollend']],
    ]
    for (const [of, names] of without) for (const name of names) delete of[name]
  })
}

const broken = 'Something went wrong'

async function tour(page: Page, screens: readonly TourScreen[]): Promise<void> {
  for (const { name, path, ready } of screens) {
    await test.step(name, async () => {
      await page.goto(path)
      await ready(page)
      await waitUntilLoaded(page)
      await expect(page.getByText(broken)).toHaveCount(0)
    })
  }
}

test('all screens work in the oldest supported browsers', async ({ person, server }) => {
  test.setTimeout(240_000)
  const made = await createTourData(server)
  const visitor = await person()
  visitor.expectConsole(/status of 404/, 'the last screen is a 404')
  await removeNewerBuiltIns(visitor)
  await tour(visitor.page, publicScreens(made, server.shop))
  expect(await visitor.page.evaluate(() => 'toSorted' in Array.prototype)).toBe(false)
  for (const [as, screens] of [
    ['CUSTOMER', customerScreens(made)],
    ['MERCHANT', merchantScreens(made, server.shop)],
    ['ADMIN', adminScreens],
  ] as const) {
    const user = await person({ as, device: 'desktop' })
    await removeNewerBuiltIns(user)
    await tour(user.page, screens)
  }
})

test('an old browser uploads a picture and opens the playground', async ({ person, server }) => {
  const session = await server.newUser('+999007770801')
  const visitor = await person({ as: session, device: 'desktop' })
  await removeNewerBuiltIns(visitor)
  const { page } = visitor
  await page.goto('/publish')
  await page
    .getByLabel('Add photos')
    .setInputFiles({ name: 'a.png', mimeType: 'image/png', buffer: picture(400, 300) })
  await expect(page.locator('[data-picture=done]')).toHaveCount(1)

  await page.goto('/playground')
  await expect(page.locator('.CodeMirror').first()).toBeVisible()
  await page.getByRole('button', { name: 'Execute query' }).click()
  await expect(page.locator('.result-window')).toContainText('"data"')
  await page.getByRole('button', { name: 'Open in a new tab' }).click()
  await expect(page.locator('.graphiql-query-editor')).toContainText('query')
})

test('an unsupported browser shows a message', async ({ person }) => {
  for (const path of ['/', '/playground']) {
    const visitor = await person()
    await visitor.context.addInitScript(() => {
      delete (HTMLDialogElement.prototype as any).showModal
    })
    await visitor.page.goto(path)
    await expect(visitor.page.getByText('Your browser is too old')).toBeVisible()
  }
  const { page } = await person()
  await page.goto('/')
  await expect(page.getByRole('heading', { level: 1 })).toHaveCount(1)
  await expect(page.getByText('Your browser is too old')).toBeHidden()
})

test.describe('the build check', () => {
  for (const [what, text] of [
    ['a method of 2023', 'const a = [2, 1].toSorted()'],
    ['a method behind ?.', 'a?.findLast(b)'],
    ['a static function', 'Object.groupBy(a, b)'],
    ['a static function of a window', 'window.AbortSignal.timeout(5)'],
    ['a constructor', 'new Intl.Segmenter()'],
    ['a function', 'structuredClone(a)'],
    ['a method of iterators', 'new Map().values().map(f)'],
    ['a static block', 'class A { static { f() } }'],
    ['a lookbehind', 'const a = /(?<=b)c/'],
    ['a newer flag', 'const a = /b/d'],
    ['syntax of 2024', 'const a = /[\\p{L}--[a-z]]/v'],
    ['syntax of 2025', "import a from './a.json' with { type: 'json' }"],
  ] as const) {
    test(`finds ${what}`, () => {
      expect(unsupportedInScript(text)).toHaveLength(1)
    })
  }

  test('accepts what all supported browsers have', () => {
    const text = `
      class A { #b = 1; static c = 2; has(o) { return #b in o } }
      const d = [1, 2].at(-1) ?? Object.hasOwn(A, 'c'); d ||= /(?<year>\\p{Nd}+)/u
      Object.values(A).map(f); [...new Map().values()].map(f); Array.from(g.keys()).filter(f)
      await import('./x.js')`
    expect(unsupportedInScript(text)).toEqual([])
    expect(unsupportedInScript('[1].toSorted()', new Set(['toSorted']))).toEqual([])
  })

  for (const [css, n] of [
    ['a:has(b){color:red}', 1],
    ['a{height:100dvh}', 1],
    ['a{height:100vh;height:100dvh}', 0],
    ['a{height:100vh}b{height:100dvh}', 1],
    ['a{b{color:red}}a{&:hover{color:red}}', 1],
    ['@container (min-width:9px){a{color:red}}', 1],
    ['@media (width>=900px){a{color:red}}', 1],
    ['@media (min-width:900px){a>b{color:rgb(0 0 0/8%)}}', 0],
    ['a{color:color-mix(in srgb,red,blue)}', 1],
    ['a{transform:rotate(3deg)}', 0],
    ['a{rotate:3deg}', 1],
  ] as const) {
    test(`finds ${n} in ${css}`, () => {
      expect(unsupportedInStyle(css)).toHaveLength(n)
    })
  }

  test('names the same browsers as the page', () => {
    const page = readFileSync(new URL('../app/index.html', import.meta.url), 'utf8')
    const config = readFileSync(new URL('../app/vite.config.ts', import.meta.url), 'utf8')
    const words = page.replace(/\s+/g, ' ')
    expect(words).toContain('Safari 15.4, Chrome or Edge 97, Firefox 102 or newer')
    expect(config).toContain("['chrome97', 'edge97', 'firefox102', 'safari15.4', 'ios15.4']")
  })
})
