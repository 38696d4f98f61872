import { a11y, expect, shot, test, type Looks, type Page, type Server } from './fixtures.ts'
import { flashSale } from './things.ts'

// Every screen, as axe and as people see it.

// Of device, language and colours any two are seen together: four of the eight ways to mix them.
const looks: readonly (Looks & { name: string })[] = [
  { name: 'phone-en-light', device: 'phone', locale: 'en-US', colorScheme: 'light' },
  { name: 'phone-zh-dark', device: 'phone', locale: 'zh-CN', colorScheme: 'dark' },
  { name: 'desktop-en-dark', device: 'desktop', locale: 'en-US', colorScheme: 'dark' },
  { name: 'desktop-zh-light', device: 'desktop', locale: 'zh-CN', colorScheme: 'light' },
]

/** Where each screen is, for whom, and what shows that it has all that it waits for. */
interface Seen {
  name: string
  path: string
  ready: (page: Page) => Promise<void>
}

/** What the screens show: made once, so that each look is at the same things. */
interface Things {
  sale: string
  voucher: string
  order: string
  note: string
  author: string
  me: string
}

const article = (page: Page) => expect(page.getByRole('article').first()).toBeVisible()
const heading = (page: Page) => expect(page.getByRole('heading', { level: 1 })).toHaveCount(1)

function open({ sale, voucher, note, author }: Things, shop: string): Seen[] {
  return [
    { name: 'home', path: '/', ready: article },
    { name: 'search', path: '/search', ready: article },
    { name: 'shop', path: `/shops/${shop}`, ready: article },
    {
      name: 'sale',
      path: `/sales/${sale}`,
      ready: (page) => expect(page.getByRole('timer')).toBeVisible(),
    },
    {
      name: 'voucher',
      path: `/vouchers/${voucher}`,
      ready: (page) => expect(page.locator('[data-buying]')).toBeVisible(),
    },
    {
      name: 'note',
      path: `/notes/${note}`,
      ready: (page) => expect(page.locator('main h1')).toHaveText(/Worth/),
    },
    { name: 'user', path: `/users/${author}`, ready: article },
    { name: 'people', path: `/users/${author}/followers`, ready: heading },
    { name: 'signin', path: '/signin', ready: heading },
    { name: 'settings', path: '/settings', ready: heading },
    { name: 'lost', path: '/nowhere', ready: heading },
  ]
}

function customers({ order, sale }: Things): Seen[] {
  return [
    { name: 'feed', path: '/feed', ready: article },
    { name: 'publish', path: '/publish', ready: heading },
    { name: 'orders', path: '/orders', ready: article },
    {
      name: 'order',
      path: `/orders/${order}`,
      ready: (page) => expect(page.locator('[data-status]').first()).toBeVisible(),
    },
    {
      name: 'sale-bought',
      path: `/sales/${sale}`,
      ready: (page) => expect(page.getByRole('timer')).toBeVisible(),
    },
    {
      name: 'me',
      path: '/me',
      ready: (page) => expect(page.getByText('Demo customer').first()).toBeVisible(),
    },
    {
      name: 'edit-me',
      path: '/me/edit',
      ready: (page) => expect(page.locator('form').first()).toBeVisible(),
    },
  ]
}

const chart = (page: Page) => expect(page.locator('canvas').first()).toBeVisible()

function merchants({ voucher }: Things, shop: string): Seen[] {
  return [
    { name: 'merchant', path: '/merchant', ready: article },
    { name: 'merchant-redeem', path: '/merchant/redeem', ready: heading },
    { name: 'merchant-shop', path: `/merchant/shops/${shop}`, ready: article },
    { name: 'merchant-orders', path: `/merchant/shops/${shop}?part=orders`, ready: article },
    { name: 'merchant-figures', path: `/merchant/shops/${shop}?part=figures`, ready: chart },
    {
      name: 'merchant-shop-edit',
      path: `/merchant/shops/${shop}/edit`,
      ready: (page) => expect(page.locator('form').first()).toBeVisible(),
    },
    {
      name: 'merchant-shop-new',
      path: '/merchant/shops/new',
      ready: (page) => expect(page.locator('form').first()).toBeVisible(),
    },
    {
      name: 'merchant-voucher-new',
      path: `/merchant/shops/${shop}/vouchers/new`,
      ready: (page) => expect(page.locator('form').first()).toBeVisible(),
    },
    {
      name: 'merchant-voucher',
      path: `/merchant/vouchers/${voucher}`,
      ready: (page) => expect(page.locator('form').first()).toBeVisible(),
    },
  ]
}

const admins: Seen[] = [
  {
    name: 'admin',
    path: '/admin',
    ready: (page) => expect(page.locator('canvas').first()).toBeVisible(),
  },
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
      await tour(page, open(made, server.shop))
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

/** Waits until nothing on the screen is still loading: no skeleton, and all pictures in sight are there. */
async function quiet(page: Page): Promise<void> {
  await expect(page.getByLabel(/^(Loading|加载中)$/)).toHaveCount(0)
  await expect
    .poll(() =>
      page.locator('img').evaluateAll((all) =>
        all.every((e) => {
          const { bottom, top } = e.getBoundingClientRect()
          const image = e as HTMLImageElement
          return (
            bottom < 0 || top > window.innerHeight || (image.complete && image.naturalWidth > 0)
          )
        }),
      ),
    )
    .toBe(true)
}

/** Makes what the screens show: vouchers and a sale of the merchant, an order and a note of the customer. */
async function make(server: Server): Promise<Things> {
  const merchant = await server.login('MERCHANT')
  const customer = await server.login('CUSTOMER')
  const shopId = server.shop
  const { createVoucher } = await merchant.ask(
    `mutation ($input: CreateVoucherInput!) { createVoucher(input: $input) { voucher { id } userErrors { message } } }`,
    {
      input: {
        shopId,
        title: '50元代金券 50 for 42',
        subTitle: '全场通用 For everything on the menu',
        rules: '每桌不限张数。\nAny number at a table.',
        payValue: 4200,
        faceValue: 5000,
      },
    },
  )
  const sale = await flashSale(merchant.ask, shopId, 100)
  const { orderVoucher } = await customer.ask(
    `mutation ($id: ID!) { orderVoucher(voucherId: $id) { order { id } userErrors { message } } }`,
    { id: sale },
  )
  const order = orderVoucher.order.id
  await expect
    .poll(
      async () =>
        (await customer.ask(`query ($id: ID!) { order(id: $id) { status } }`, { id: order })).order
          .status,
    )
    .toBe('UNPAID')
  const { publishNote } = await customer.ask(
    `mutation ($input: PublishNoteInput!) { publishNote(input: $input) { note { id author { id } } userErrors { message } } }`,
    {
      input: {
        shopId,
        title: 'Worth the queue 值得排队',
        content: 'Go before noon.\nThe corner table is the quiet one. 角落那桌最安静。',
      },
    },
  )
  const { id: note, author } = publishNote.note
  await merchant.ask(
    `mutation ($id: ID!) {
      likeNote(id: $id) { userErrors { message } }
      addComment(input: {noteId: $id, content: "谢谢！ Come again."}) { userErrors { message } }
    }`,
    { id: note },
  )
  return {
    sale,
    voucher: createVoucher.voucher.id,
    order,
    note,
    author: author.id,
    me: customer.userId,
  }
}
