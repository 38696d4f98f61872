// What several specs make through the API.

import type { Page } from '@playwright/test'

import { picture } from './picture.ts'
import type { Ask, Server, Session } from './server.ts'

/** Uploads a picture of a width of its own, and returns its url. Only its user may show it. */
export async function uploaded(server: Server, { token }: Session, width: number): Promise<string> {
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

/** Opens a flash sale of so many pieces, which is open for an hour or so many minutes. */
export async function flashSale(
  ask: Ask,
  shopId: string,
  stock: number,
  minutes = 60,
  title = '秒杀：双人餐 Dinner for two',
): Promise<string> {
  const now = Date.now()
  const { createFlashVoucher } = await ask(
    `mutation ($input: CreateFlashVoucherInput!) { createFlashVoucher(input: $input) { voucher { id } userErrors { message } } }`,
    {
      input: {
        shopId,
        title,
        subTitle: '每人一份 One each',
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

/** Puts an ordinary voucher on sale, of which one may have several. */
export async function voucher(ask: Ask, shopId: string): Promise<string> {
  const { createVoucher } = await ask(
    `mutation ($input: CreateVoucherInput!) { createVoucher(input: $input) { voucher { id } userErrors { message } } }`,
    { input: { shopId, title: '五十元代金券 Fifty for forty', payValue: 4000, faceValue: 5000 } },
  )
  return createVoucher.voucher.id
}

/** Orders a voucher, and returns the order's id. */
export async function place(ask: Ask, voucherId: string): Promise<string> {
  const { orderVoucher } = await ask(
    `mutation ($voucherId: ID!) { orderVoucher(voucherId: $voucherId) { order { id } userErrors { message } } }`,
    { voucherId },
  )
  return orderVoucher.order.id
}

/** Cancels an order. */
export async function cancel(ask: Ask, id: string): Promise<void> {
  await ask(`mutation ($id: ID!) { cancelOrder(orderId: $id) { userErrors { message } } }`, { id })
}

/** Publishes a note, and returns its id. */
export async function publish(ask: Ask, shopId: string, title: string): Promise<string> {
  const { publishNote } = await ask(
    `mutation ($input: PublishNoteInput!) { publishNote(input: $input) { note { id } userErrors { message } } }`,
    { input: { shopId, title, content: `${title}: go and see.` } },
  )
  return publishNote.note.id
}

/** Has somebody follow another. */
export async function follow(ask: Ask, userId: string): Promise<void> {
  await ask(`mutation ($userId: ID!) { follow(userId: $userId) { userErrors { message } } }`, {
    userId,
  })
}

/** Changes what the server answers to an operation of a page, and keeps the variables that it was sent. */
export async function changed(
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
