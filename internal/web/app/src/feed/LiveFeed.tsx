import { useEffect, useEffectEvent, useRef } from 'react'
import { useClient } from 'urql'

import { useApiQuery } from '@/api/useApiQuery'

import { withStart, restarted, withUpdate, type Update } from './feed'
import { FeedStartDocument, FeedUpdatesDocument, type FeedUpdatesSubscription } from './feed.gql'
import { unreadNotes } from './unreadNotes'
import { useFeed } from './useFeed'

// Waits before updates restart, and before the start cursor is fetched again, in ms.
const minWait = 5000
const maxWait = 60_000

/** Subscribes to the viewer's feed on all screens. It renders nothing. */
export function LiveFeed() {
  const client = useClient()
  const [{ start, waiting }, store] = useFeed()

  const [{ data, error: refused, fetching }, refetch] = useApiQuery({
    query: FeedStartDocument,
    variables: {},
    requestPolicy: 'network-only',
    pause: start !== null,
  })
  const wait = useRef(minWait)
  const moment = data?.me?.feed?.liveCursor
  useEffect(() => {
    if (moment === undefined || fetching || start !== null) return
    store.set(withStart(store.get(), moment))
  }, [moment, fetching, start, store])

  const again = useEffectEvent(() => refetch({ requestPolicy: 'network-only' }))
  useEffect(() => {
    if (refused === undefined || fetching || start !== null) return undefined
    const timer = setTimeout(() => again(), wait.current)
    wait.current = Math.min(wait.current * 2, maxWait)
    return () => clearTimeout(timer)
  }, [refused, fetching, start])

  useEffect(() => {
    if (start === null) return undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    const updates = client
      .subscription(FeedUpdatesDocument, { after: start })
      .subscribe(({ data: update, error }) => {
        if (update) store.set(withUpdate(store.get(), read(update.feedUpdates)))
        if (error) {
          timer ??= setTimeout(() => store.set(restarted(store.get())), wait.current)
          wait.current = Math.min(wait.current * 2, maxWait)
        } else wait.current = minWait
      })
    return () => {
      clearTimeout(timer)
      updates.unsubscribe()
    }
  }, [client, store, start])

  useEffect(() => unreadNotes.set(waiting.length), [waiting])
  useEffect(() => () => unreadNotes.set(0), [])
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
