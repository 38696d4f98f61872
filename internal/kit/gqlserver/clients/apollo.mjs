// Apollo Client with a typical configuration and a list of its requests.
import { createHash } from 'node:crypto'
import { ApolloClient, ApolloLink, HttpLink, InMemoryCache } from '@apollo/client'
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries'
import { counted, url } from './support.mjs'

const sha256 = (text) => createHash('sha256').update(text).digest('hex')

// apollo returns a client. If link is given, it replaces the HTTP link.
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
