// urql as an app sets it up, with a list of the requests that it made.
import { createHash } from 'node:crypto'
import { Client, fetchExchange } from '@urql/core'
import { persistedExchange } from '@urql/exchange-persisted'
import { counted, url } from './support.mjs'

// urql returns a client; exchanges, if given, stand before the one over HTTP.
export function urql({ headers, exchanges = [], persisted = false, ...options } = {}) {
  const { fetch, requests } = counted()
  const persist = persistedExchange({
    preferGetForPersistedQueries: false,
    generateHash: async (text) => createHash('sha256').update(text).digest('hex'),
  })
  const client = new Client({
    url,
    fetch,
    fetchOptions: { headers },
    preferGetMethod: false,
    requestPolicy: 'network-only',
    exchanges: [...(persisted ? [persist] : []), ...exchanges, fetchExchange],
    ...options,
  })
  return { client, requests }
}
