import { useSyncExternalStore } from 'react'
import { useClient, type Client } from 'urql'

import { createStore, type Store } from '@/app/store'

import { nothing, type Feed } from './feed'

/** A session has a client, and each client a feed: it is there again for who comes back to it. */
const feeds = new WeakMap<Client, Store<Feed>>()

/** The feed of the session, and the store that changes it. */
export function useFeed(): [Feed, Store<Feed>] {
  const store = feedOf(useClient())
  return [useSyncExternalStore(store.subscribe, store.get), store]
}

/** The store of a session's feed. */
export function feedOf(client: Client): Store<Feed> {
  let store = feeds.get(client)
  if (store === undefined) {
    store = createStore(nothing)
    feeds.set(client, store)
  }
  return store
}
