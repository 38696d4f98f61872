// All screens of the app and the data that they show.

import { expect, type Page, type Server, type Session } from './fixtures.ts'
import { flashSale } from './testdata.ts'

/** A screen: its path, and how to tell that it has loaded. */
export interface TourScreen {
  name: string
  path: string
  ready: (page: Page) => Promise<void>
}

/** Data shown on the screens, created once for all looks. */
export interface TourData {
  sale: string
  voucher: string
  order: string
  note: string
  author: string
  me: string
}

const article = (page: Page) => expect(page.getByRole('article').first()).toBeVisible()
const heading = (page: Page) => expect(page.getByRole('heading', { level: 1 })).toHaveCount(1)

export function publicScreens(
  { sale, voucher, note, author }: TourData,
  shop: string,
): TourScreen[] {
  return [
    { name: 'home', path: '/', ready: article },
    { name: 'search', path: '/search', ready: article },
    { name: 'rankings', path: '/rankings?by=rated', ready: article },
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
      ready: (page) => expect(page.locator('main h1')).not.toHaveText(/^(Note|笔记)$/),
    },
    { name: 'user', path: `/users/${author}`, ready: article },
    { name: 'people', path: `/users/${author}/followers`, ready: heading },
    { name: 'signin', path: '/signin', ready: heading },
    { name: 'settings', path: '/settings', ready: heading },
    { name: 'not-found', path: '/nowhere', ready: heading },
  ]
}

export function customerScreens({ order, sale }: TourData): TourScreen[] {
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
    { name: 'saved', path: '/saved', ready: article },
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

export function merchantScreens({ voucher }: TourData, shop: string): TourScreen[] {
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

export const adminScreens: TourScreen[] = [
  {
    name: 'admin',
    path: '/admin',
    ready: (page) => expect(page.locator('canvas').first()).toBeVisible(),
  },
]

/** Waits until no skeleton is left and all visible pictures have loaded. */
export async function waitUntilLoaded(page: Page): Promise<void> {
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

/** User-written texts. */
export interface Words {
  voucher: string
  subTitle: string
  rules: string
  /** The title of a flash sale. */
  sale?: string
  title: string
  content: string
  comment: string
}

const plain: Words = {
  voucher: '50元代金券 50 for 42',
  subTitle: '全场通用 For everything on the menu',
  rules: '每桌不限张数。\nAny number at a table.',
  title: 'Worth the queue 值得排队',
  content: 'Go before noon.\nThe corner table is the quiet one. 角落那桌最安静。',
  comment: '谢谢！ Come again.',
}

/** Creates the data: a voucher and a sale by the merchant, an order and a note by the customer. */
export async function createTourData(
  server: Server,
  words: Words = plain,
  shopId = server.shop,
  writer?: Session,
): Promise<TourData> {
  const merchant = await server.login('MERCHANT')
  const customer = writer ?? (await server.login('CUSTOMER'))
  const { createVoucher } = await merchant.api(
    `mutation ($input: CreateVoucherInput!) { createVoucher(input: $input) { voucher { id } userErrors { message } } }`,
    {
      input: {
        shopId,
        title: words.voucher,
        subTitle: words.subTitle,
        rules: words.rules,
        payValue: 4200,
        faceValue: 5000,
      },
    },
  )
  const sale = await flashSale(merchant.api, shopId, 100, 60, words.sale)
  const { orderVoucher } = await customer.api(
    `mutation ($id: ID!) { orderVoucher(voucherId: $id) { order { id } userErrors { message } } }`,
    { id: sale },
  )
  const order = orderVoucher.order.id
  await expect
    .poll(
      async () =>
        (await customer.api(`query ($id: ID!) { order(id: $id) { status } }`, { id: order })).order
          .status,
    )
    .toBe('UNPAID')
  const { publishNote } = await customer.api(
    `mutation ($input: PublishNoteInput!) { publishNote(input: $input) { note { id author { id } } userErrors { message } } }`,
    {
      input: {
        shopId,
        title: words.title,
        content: words.content,
        stars: 4,
      },
    },
  )
  const { id: note, author } = publishNote.note
  await customer.api(`mutation ($id: ID!) { saveShop(id: $id) { userErrors { message } } }`, {
    id: shopId,
  })
  await merchant.api(
    `mutation ($id: ID!, $comment: String!) {
      likeNote(id: $id) { userErrors { message } }
      addComment(input: {noteId: $id, content: $comment}) { userErrors { message } }
    }`,
    { id: note, comment: words.comment },
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
