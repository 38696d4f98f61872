import {
  cacheExchange,
  type Cache,
  type Entity,
  type UpdateResolver,
} from '@urql/exchange-graphcache'
import type { Exchange } from '@urql/core'

import { parts, possibleTypes } from './schema.gql'

/**
 * Returns the normalised cache: objects by type and id, lists as pages. A like shows wherever the
 * note appears. When a mutation changes more than its payload, `updates` invalidates the affected
 * fields, and the components that show them fetch them again.
 */
export function apiCache(userId: string | null): Exchange {
  const me: Entity = userId === null ? null : { __typename: 'User', id: userId }
  const invalidateMine = (cache: Cache, ...fields: string[]) => {
    invalidateFields(cache, 'Query', 'me')
    invalidateFields(cache, me, ...fields)
  }

  return cacheExchange({
    possibleTypes,
    keys: {
      ...Object.fromEntries(parts.map((name) => [name, () => null])),
      FlashSale: (sale) => String(sale.voucherId),
    },

    // Shown immediately, and rolled back when the server rejects the mutation.
    optimistic: {
      likeNote: ({ id }, cache) => optimisticToggle(cache, 'Like', 'Note', id, true),
      unlikeNote: ({ id }, cache) => optimisticToggle(cache, 'Like', 'Note', id, false),
      likeComment: ({ id }, cache) => optimisticToggle(cache, 'Like', 'Comment', id, true),
      unlikeComment: ({ id }, cache) => optimisticToggle(cache, 'Like', 'Comment', id, false),
      saveNote: ({ id }, cache) => optimisticToggle(cache, 'Save', 'Note', id, true),
      unsaveNote: ({ id }, cache) => optimisticToggle(cache, 'Save', 'Note', id, false),
      saveShop: ({ id }, cache) => optimisticToggle(cache, 'Save', 'Shop', id, true),
      unsaveShop: ({ id }, cache) => optimisticToggle(cache, 'Save', 'Shop', id, false),
      follow: ({ userId: id }, cache) => optimisticFollow(cache, id, true),
      unfollow: ({ userId: id }, cache) => optimisticFollow(cache, id, false),
    },

    updates: {
      Subscription: {
        // The client missed too many updates to apply them one by one.
        feedUpdates: (result, _args, cache) => {
          const update = result.feedUpdates as { __typename?: string } | null
          // oxlint-disable-next-line no-underscore-dangle
          if (update?.__typename === 'FeedResync') invalidateFields(cache, me, 'feed')
        },
      },
      Mutation: {
        likeNote: onResponse((_, { id }, cache) =>
          invalidateFields(cache, entity('Note', id), 'firstLikers'),
        ),
        unlikeNote: onResponse((_, { id }, cache) =>
          invalidateFields(cache, entity('Note', id), 'firstLikers'),
        ),
        publishNote: (_, { input }, cache) => {
          invalidateFields(cache, 'Query', 'hotNotes')
          invalidateFields(cache, entity('Shop', field(input, 'shopId')), 'notes', 'commentCount')
          invalidateMine(cache, 'notes', 'noteCount')
        },
        // Notes show the rating of their author.
        rateShop: (_, { input }, cache) =>
          invalidateFields(cache, entity('Shop', field(input, 'shopId')), 'notes'),
        deleteRating: (_, { shopId }, cache) =>
          invalidateFields(cache, entity('Shop', shopId), 'notes'),
        deleteNote: (_, { id }, cache) => {
          invalidateFields(cache, 'Query', 'hotNotes')
          invalidateMine(cache, 'notes', 'noteCount')
          cache.invalidate(entity('Note', id))
        },
        addComment: (_, { input }, cache) => {
          invalidateFields(
            cache,
            entity('Note', field(input, 'noteId')),
            'comments',
            'commentCount',
          )
          // Replies to replies are listed under the top-level comment.
          let above = entity('Comment', field(input, 'parentId'))
          while (above) {
            invalidateFields(cache, above, 'replies', 'replyCount')
            above = (cache.resolve(above, 'parent') ?? null) as Entity
          }
        },
        follow: onResponse((_, { userId: id }, cache) => {
          invalidateMine(cache, 'feed', 'followees', 'followeeCount')
          invalidateFields(cache, entity('User', id), 'followers', 'commonFollowees')
        }),
        unfollow: onResponse((_, { userId: id }, cache) => {
          invalidateMine(cache, 'feed', 'followees', 'followeeCount')
          invalidateFields(cache, entity('User', id), 'followers', 'commonFollowees')
        }),
        checkIn: (_, _args, cache) => invalidateMine(cache, 'checkIns', 'points', 'level'),
        orderVoucher: (_, _args, cache) => invalidateMine(cache, 'orders'),
        payOrder: (_, _args, cache) => invalidateMine(cache, 'orders', 'points', 'level'),
        cancelOrder: (_, _args, cache) => invalidateMine(cache, 'orders'),
        refundOrder: (_, _args, cache) => invalidateMine(cache, 'orders', 'points', 'level'),
        createShop: (_, _args, cache) => {
          invalidateFields(cache, 'Query', 'shops')
          invalidateMine(cache, 'shops')
        },
        updateShop: (_, _args, cache) => invalidateFields(cache, 'Query', 'shops'),
        createVoucher: (_, { input }, cache) => invalidateVouchers(cache, field(input, 'shopId')),
        createFlashVoucher: (_, { input }, cache) =>
          invalidateVouchers(cache, field(input, 'shopId')),
        updateVoucher: (_, _args, cache) => invalidateFields(cache, 'Query', 'flashSales'),
        updateFlashVoucher: (_, _args, cache) => invalidateFields(cache, 'Query', 'flashSales'),
      },
    },
  })
}

/**
 * Runs an update only for the server's response. Running it for the optimistic result would trigger
 * a fetch too early.
 */
function onResponse(update: UpdateResolver): UpdateResolver {
  return (result, args, cache, info) => {
    if (info.optimistic !== true) update(result, args, cache, info)
  }
}

function invalidateVouchers(cache: Cache, shopId: string | null): void {
  invalidateFields(cache, entity('Shop', shopId), 'vouchers')
  invalidateFields(cache, 'Query', 'flashSales')
}

/** Invalidates fields of an entity, with any arguments. */
export function invalidateFields(cache: Cache, of: Entity, ...fields: string[]): void {
  if (of === null) return
  for (const { fieldName, arguments: args } of cache.inspectFields(of)) {
    if (fields.includes(fieldName)) cache.invalidate(of, fieldName, args)
  }
}

/** Returns the payload of likeNote, unsaveShop and the like. */
function optimisticToggle(
  cache: Cache,
  verb: 'Like' | 'Save',
  type: 'Note' | 'Comment' | 'Shop',
  id: unknown,
  on: boolean,
) {
  const of = entity(type, String(id))
  const flag = verb === 'Like' ? 'isLiked' : 'isSaved'
  const counter = verb === 'Like' ? 'likeCount' : 'saveCount'
  const was = cache.resolve(of, flag) === true
  const count = Number(cache.resolve(of, counter) ?? 0) + Number(on) - Number(was)
  const name = `${on ? verb : `Un${verb.toLowerCase()}`}${type}Payload`
  return {
    __typename: name,
    [type.toLowerCase()]: { __typename: type, id: String(id), [flag]: on, [counter]: count },
    userErrors: [],
  }
}

function optimisticFollow(cache: Cache, id: unknown, isFollowed: boolean) {
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

/** Returns a string field of a mutation's input. */
function field(input: unknown, name: string): string | null {
  const value = (input as Record<string, unknown> | null)?.[name]
  return typeof value === 'string' ? value : null
}
