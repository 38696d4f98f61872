// urql with a typical configuration and a list of its requests.
import { createHash } from 'node:crypto'
import { Client, fetchExchange } from '@urql/core'
import { persistedExchange } from '@urql/exchange-persisted'
import { counted, url } from './support.mjs'

// urql returns a client. It puts the exchanges before the HTTP exchange.
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
