import { useSyncExternalStore } from 'react'
import { useClient, type Client } from 'urql'

import { createStore, type Store } from '@/app/store'

import { emptyFeed, type Feed } from './feed'

/** One feed per client, and so per session. It survives navigation. */
const feeds = new WeakMap<Client, Store<Feed>>()

/** Returns the session's feed and its store. */
export function useFeed(): [Feed, Store<Feed>] {
  const store = feedOf(useClient())
  return [useSyncExternalStore(store.subscribe, store.get), store]
}

/** Returns the feed store of a client. */
export function feedOf(client: Client): Store<Feed> {
  let store = feeds.get(client)
  if (store === undefined) {
    store = createStore(emptyFeed)
    feeds.set(client, store)
  }
  return store
}
