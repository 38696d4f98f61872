// What several specs make through the API.

import type { Ask } from './server.ts'

/** Opens a flash sale of so many pieces, which is open for an hour or so many minutes. */
export async function flashSale(
  ask: Ask,
  shopId: string,
  stock: number,
  minutes = 60,
): Promise<string> {
  const now = Date.now()
  const { createFlashVoucher } = await ask(
    `mutation ($input: CreateFlashVoucherInput!) { createFlashVoucher(input: $input) { voucher { id } userErrors { message } } }`,
    {
      input: {
        shopId,
        title: '秒杀：双人餐 Dinner for two',
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
