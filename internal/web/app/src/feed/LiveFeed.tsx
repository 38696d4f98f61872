import { useEffect, useEffectEvent, useRef } from 'react'
import { useClient } from 'urql'

import { useAsk } from '@/api/useAsk'

import { begun, broken, told, type Update } from './feed'
import { FeedStartDocument, FeedUpdatesDocument, type FeedUpdatesSubscription } from './feed.gql'
import { news } from './news'
import { useFeed } from './useFeed'

// Before updates that ended begin again, and before it is asked again where they begin, in ms.
const shortest = 5000
const longest = 60_000

/** Follows the feed of who is signed in, whatever is on the screen. It shows nothing itself. */
export function LiveFeed() {
  const client = useClient()
  const [{ start, waiting }, store] = useFeed()

  const [{ data, error: refused, fetching }, ask] = useAsk({
    query: FeedStartDocument,
    variables: {},
    requestPolicy: 'network-only',
    pause: start !== null,
  })
  const wait = useRef(shortest)
  const moment = data?.me?.feed?.liveCursor
  useEffect(() => {
    if (moment === undefined || fetching || start !== null) return
    store.set(begun(store.get(), moment))
  }, [moment, fetching, start, store])

  const again = useEffectEvent(() => ask({ requestPolicy: 'network-only' }))
  useEffect(() => {
    if (refused === undefined || fetching || start !== null) return undefined
    const timer = setTimeout(() => again(), wait.current)
    wait.current = Math.min(wait.current * 2, longest)
    return () => clearTimeout(timer)
  }, [refused, fetching, start])

  useEffect(() => {
    if (start === null) return undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    const updates = client
      .subscription(FeedUpdatesDocument, { after: start })
      .subscribe(({ data: update, error }) => {
        if (update) store.set(told(store.get(), read(update.feedUpdates)))
        if (error) {
          timer ??= setTimeout(() => store.set(broken(store.get())), wait.current)
          wait.current = Math.min(wait.current * 2, longest)
        } else wait.current = shortest
      })
    return () => {
      clearTimeout(timer)
      updates.unsubscribe()
    }
  }, [client, store, start])

  useEffect(() => news.set(waiting.length), [waiting])
  useEffect(() => () => news.set(0), [])
  return null
}

function read(update: FeedUpdatesSubscription['feedUpdates']): Update {
  if ('note' in update) {
    const { id, createdAt, author } = update.note
    return { kind: 'added', note: { id, createdAt, authorId: author.id } }
  }
  if ('noteId' in update) return { kind: 'removed', noteId: update.noteId }
  // oxlint-disable-next-line no-underscore-dangle
  return { kind: update.__typename === 'FeedResync' ? 'resync' : 'ready' }
}
