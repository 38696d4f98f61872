import {
  cacheExchange,
  type Cache,
  type Entity,
  type UpdateResolver,
} from '@urql/exchange-graphcache'
import type { Exchange } from '@urql/core'

import { parts, possibleTypes } from './schema.gql'

/**
 * The cache of what the API answered, by type and id, so that a like shows wherever the note does.
 * Lists are kept as pages. What a mutation changes beyond what it answers is forgotten here, and
 * asked for anew by whoever shows it.
 */
export function apiCache(userId: string | null): Exchange {
  const me: Entity = userId === null ? null : { __typename: 'User', id: userId }
  const forgetMine = (cache: Cache, ...fields: string[]) => {
    forget(cache, 'Query', 'me')
    forget(cache, me, ...fields)
  }

  return cacheExchange({
    possibleTypes,
    keys: {
      ...Object.fromEntries(parts.map((name) => [name, () => null])),
      FlashSale: (sale) => String(sale.voucherId),
    },

    // Shown at once, and taken back when the server refuses.
    optimistic: {
      likeNote: ({ id }, cache) => like(cache, 'Note', id, true),
      unlikeNote: ({ id }, cache) => like(cache, 'Note', id, false),
      likeComment: ({ id }, cache) => like(cache, 'Comment', id, true),
      unlikeComment: ({ id }, cache) => like(cache, 'Comment', id, false),
      follow: ({ userId: id }, cache) => follow(cache, id, true),
      unfollow: ({ userId: id }, cache) => follow(cache, id, false),
    },

    updates: {
      Subscription: {
        // Too much was missed to tell it.
        feedUpdates: (result, _args, cache) => {
          const update = result.feedUpdates as { __typename?: string } | null
          // oxlint-disable-next-line no-underscore-dangle
          if (update?.__typename === 'FeedResync') forget(cache, me, 'feed')
        },
      },
      Mutation: {
        likeNote: answered((_, { id }, cache) => forget(cache, entity('Note', id), 'firstLikers')),
        unlikeNote: answered((_, { id }, cache) =>
          forget(cache, entity('Note', id), 'firstLikers'),
        ),
        publishNote: (_, { input }, cache) => {
          forget(cache, 'Query', 'hotNotes')
          forget(cache, entity('Shop', field(input, 'shopId')), 'notes', 'commentCount')
          forgetMine(cache, 'notes', 'noteCount')
        },
        deleteNote: (_, { id }, cache) => {
          forget(cache, 'Query', 'hotNotes')
          forgetMine(cache, 'notes', 'noteCount')
          cache.invalidate(entity('Note', id))
        },
        addComment: (_, { input }, cache) => {
          forget(cache, entity('Note', field(input, 'noteId')), 'comments', 'commentCount')
          // An answer to a reply stands below the comment that the reply stands below.
          let above = entity('Comment', field(input, 'parentId'))
          while (above) {
            forget(cache, above, 'replies', 'replyCount')
            above = (cache.resolve(above, 'parent') ?? null) as Entity
          }
        },
        follow: answered((_, { userId: id }, cache) => {
          forgetMine(cache, 'feed', 'followees', 'followeeCount')
          forget(cache, entity('User', id), 'followers', 'commonFollowees')
        }),
        unfollow: answered((_, { userId: id }, cache) => {
          forgetMine(cache, 'feed', 'followees', 'followeeCount')
          forget(cache, entity('User', id), 'followers', 'commonFollowees')
        }),
        checkIn: (_, _args, cache) => forgetMine(cache, 'checkIns', 'points', 'level'),
        orderVoucher: (_, _args, cache) => forgetMine(cache, 'orders'),
        payOrder: (_, _args, cache) => forgetMine(cache, 'orders', 'points', 'level'),
        cancelOrder: (_, _args, cache) => forgetMine(cache, 'orders'),
        refundOrder: (_, _args, cache) => forgetMine(cache, 'orders', 'points', 'level'),
        createShop: (_, _args, cache) => {
          forget(cache, 'Query', 'shops')
          forgetMine(cache, 'shops')
        },
        updateShop: (_, _args, cache) => forget(cache, 'Query', 'shops'),
        createVoucher: (_, { input }, cache) => vouchersChanged(cache, field(input, 'shopId')),
        createFlashVoucher: (_, { input }, cache) => vouchersChanged(cache, field(input, 'shopId')),
        updateVoucher: (_, _args, cache) => forget(cache, 'Query', 'flashSales'),
        updateFlashVoucher: (_, _args, cache) => forget(cache, 'Query', 'flashSales'),
      },
    },
  })
}

/**
 * What is forgotten when the server has answered. Before, what is shown at once would have to be
 * asked for.
 */
function answered(update: UpdateResolver): UpdateResolver {
  return (result, args, cache, info) => {
    if (info.optimistic !== true) update(result, args, cache, info)
  }
}

function vouchersChanged(cache: Cache, shopId: string | null): void {
  forget(cache, entity('Shop', shopId), 'vouchers')
  forget(cache, 'Query', 'flashSales')
}

/** Forgets fields of an entity, with whatever arguments they were asked for. */
export function forget(cache: Cache, of: Entity, ...fields: string[]): void {
  if (of === null) return
  for (const { fieldName, arguments: args } of cache.inspectFields(of)) {
    if (fields.includes(fieldName)) cache.invalidate(of, fieldName, args)
  }
}

function like(cache: Cache, type: 'Note' | 'Comment', id: unknown, isLiked: boolean) {
  const of = entity(type, String(id))
  const was = cache.resolve(of, 'isLiked') === true
  const likeCount = Number(cache.resolve(of, 'likeCount') ?? 0) + Number(isLiked) - Number(was)
  const thing = { __typename: type, id: String(id), isLiked, likeCount }
  const name = `${isLiked ? 'Like' : 'Unlike'}${type}Payload`
  return { __typename: name, [type === 'Note' ? 'note' : 'comment']: thing, userErrors: [] }
}

function follow(cache: Cache, id: unknown, isFollowed: boolean) {
  const of = entity('User', String(id))
  const was = cache.resolve(of, 'isFollowed') === true
  const followerCount =
    Number(cache.resolve(of, 'followerCount') ?? 0) + Number(isFollowed) - Number(was)
  const user = { __typename: 'User', id: String(id), isFollowed, followerCount }
  return { __typename: isFollowed ? 'FollowPayload' : 'UnfollowPayload', user, userErrors: [] }
}

function entity(type: string, id: unknown): Entity {
  return typeof id === 'string' ? { __typename: type, id } : null
}

/** A field of a mutation's input. */
function field(input: unknown, name: string): string | null {
  const value = (input as Record<string, unknown> | null)?.[name]
  return typeof value === 'string' ? value : null
}
