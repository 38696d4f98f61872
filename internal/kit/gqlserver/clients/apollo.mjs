// Apollo Client as an app sets it up, with a list of the requests that it made.
import { createHash } from 'node:crypto'
import { ApolloClient, ApolloLink, HttpLink, InMemoryCache } from '@apollo/client'
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries'
import { counted, url } from './support.mjs'

const sha256 = (text) => createHash('sha256').update(text).digest('hex')

// apollo returns a client; link, if given, replaces the one over HTTP.
export function apollo(t, { link, headers, persisted = false } = {}) {
  const { fetch, requests } = counted()
  const http = new HttpLink({ uri: url, fetch, headers })
  const persist = persisted ? [new PersistedQueryLink({ sha256 })] : []
  const client = new ApolloClient({
    cache: new InMemoryCache(),
    link: link ?? ApolloLink.from([...persist, http]),
    defaultOptions: { query: { fetchPolicy: 'no-cache', errorPolicy: 'all' } },
  })
  t.after(() => client.stop())
  return { client, requests }
}
