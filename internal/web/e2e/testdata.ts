// Helpers that create test data through the API.

import type { Page } from '@playwright/test'

import { picture } from './pictures.ts'
import type { Api, Server, Session } from './server.ts'

/**
 * Uploads a picture and returns its URL. Only the uploader can use it. A different `width` gives a
 * different picture.
 */
export async function uploadPicture(
  server: Server,
  { token }: Session,
  width: number,
): Promise<string> {
  const form = new FormData()
  const query = `mutation ($file: Upload!) { uploadImage(file: $file) { image { url } userErrors { message } } }`
  form.set('operations', JSON.stringify({ query, variables: { file: null } }))
  form.set('map', JSON.stringify({ 0: ['variables.file'] }))
  form.set('0', new Blob([new Uint8Array(picture(width, 480))], { type: 'image/png' }), 'a.png')
  const response = await fetch(`${server.url}/graphql`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'GraphQL-Require-Preflight': '1' },
    body: form,
  })
  const { data } = await response.json()
  if (!data?.uploadImage?.image) throw new Error(`not uploaded: ${JSON.stringify(data)}`)
  return data.uploadImage.image.url
}

/** Creates an open flash sale and returns its id. */
export async function flashSale(
  api: Api,
  shopId: string,
  stock: number,
  minutes = 60,
  title = '秒杀：双人餐 Dinner for two',
): Promise<string> {
  const now = Date.now()
  const { createFlashVoucher } = await api(
    `mutation ($input: CreateFlashVoucherInput!) { createFlashVoucher(input: $input) { voucher { id } userErrors { message } } }`,
    {
      input: {
        shopId,
        title,
        subTitle: '每人限购 1 张 Limit 1 per customer',
        payValue: 3900,
        faceValue: 8800,
        stock,
        beginsAt: new Date(now - 60_000).toISOString(),
        endsAt: new Date(now + minutes * 60_000).toISOString(),
      },
    },
  )
  return createFlashVoucher.voucher.id
}

/** Creates a regular voucher without purchase limit and returns its id. */
export async function voucher(api: Api, shopId: string): Promise<string> {
  const { createVoucher } = await api(
    `mutation ($input: CreateVoucherInput!) { createVoucher(input: $input) { voucher { id } userErrors { message } } }`,
    { input: { shopId, title: '五十元代金券 Fifty for forty', payValue: 4000, faceValue: 5000 } },
  )
  return createVoucher.voucher.id
}

/** Orders a voucher and returns the order's id. */
export async function placeOrder(api: Api, voucherId: string): Promise<string> {
  const { orderVoucher } = await api(
    `mutation ($voucherId: ID!) { orderVoucher(voucherId: $voucherId) { order { id } userErrors { message } } }`,
    { voucherId },
  )
  return orderVoucher.order.id
}

/** Cancels an order. */
export async function cancelOrder(api: Api, id: string): Promise<void> {
  await api(`mutation ($id: ID!) { cancelOrder(orderId: $id) { userErrors { message } } }`, { id })
}

/** Publishes a note and returns its id. */
export async function publishNote(api: Api, shopId: string, title: string): Promise<string> {
  const { publishNote: payload } = await api(
    `mutation ($input: PublishNoteInput!) { publishNote(input: $input) { note { id } userErrors { message } } }`,
    { input: { shopId, title, content: `${title}: go and see.` } },
  )
  return payload.note.id
}

/** Follows a user. */
export async function follow(api: Api, userId: string): Promise<void> {
  await api(`mutation ($userId: ID!) { follow(userId: $userId) { userErrors { message } } }`, {
    userId,
  })
}

/** Changes the responses to an operation and returns the variables that the page sent. */
export async function changeResponses(
  page: Page,
  operation: string,
  change: (data: any) => void,
): Promise<Record<string, any>[]> {
  const sent: Record<string, any>[] = []
  await page.route(/\/graphql(\?|$)/, async (route, request) => {
    const body = request.method() === 'POST' ? request.postDataJSON() : null
    const params = new URL(request.url()).searchParams
    if ((body?.operationName ?? params.get('operationName')) !== operation) {
      await route.fallback()
      return
    }
    sent.push(body?.variables ?? JSON.parse(params.get('variables') ?? '{}'))
    const response = await route.fetch()
    const json = await response.json()
    if (json.data) change(json.data)
    await route.fulfill({ response, json })
  })
  return sent
}

/** Creates a shop of the merchant and returns its id. */
export async function createShop(api: Api, name: string, more: object = {}): Promise<string> {
  const { shopTypes } = await api(`{ shopTypes { id } }`)
  const { createShop: payload } = await api(
    `mutation ($input: CreateShopInput!) { createShop(input: $input) { shop { id } userErrors { message } } }`,
    {
      input: {
        name,
        typeId: shopTypes[0].id,
        address: '7 Lantern Row',
        location: { lat: 30.2446, lng: 120.1513 },
        ...more,
      },
    },
  )
  if (!payload.shop) throw new Error(`no shop: ${JSON.stringify(payload.userErrors)}`)
  return payload.shop.id
}
