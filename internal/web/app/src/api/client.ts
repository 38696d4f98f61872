import {
  Client,
  fetchExchange,
  mapExchange,
  subscriptionExchange,
  type CombinedError,
  type Operation,
  type OperationResult,
} from '@urql/core'
import { persistedExchange } from '@urql/exchange-persisted'

import { reportUnreachable, reportReachable } from '@/live/network'
import { openSocket } from '@/live/socket'
import { expire, type Session } from '@/session/session'

import { apiCache } from './cache'
import { hashOf } from './document'
import { serialExchange } from './serialExchange'

/** The API client of one session, or of an anonymous visitor. */
export interface Api {
  readonly client: Client
  /** Closes the subscription socket. */
  readonly close: () => void
}

/** Longer than the server's own timeout. */
const requestTimeout = 30_000 // ms

/** Creates the client of a session. Each session has its own client and cache. */
export function openApi(session: Session | null): Api {
  const onUnauthenticated = () => {
    if (session !== null) expire(session.token)
  }
  const live = openSocket({ token: session?.token ?? null, onUnauthenticated })

  const client = new Client({
    url: '/graphql',
    preferGetMethod: false,
    fetchOptions: { headers: headers(session) },
    fetch: request,
    exchanges: [
      mapExchange({
        onError: (error, operation) => handleError(error, operation, onUnauthenticated),
      }),
      apiCache(session?.userId ?? null),
      mapExchange({ onResult: dropEmptyData }),
      serialExchange(),
      // Requests carry only the document's hash. A server from another build does not know the hash
      // and asks for the text.
      persistedExchange({
        preferGetForPersistedQueries: false,
        enableForMutation: true,
        generateHash: async (_, document) => hashOf(document),
      }),
      fetchExchange,
      subscriptionExchange({
        forwardSubscription({ query, variables }) {
          // graphql-ws sends these variables on each connect and reconnect. After a break, updates
          // resume behind the last cursor.
          const now: Record<string, unknown> = { ...variables }
          return {
            subscribe: (sink) => ({
              unsubscribe: live.subscribe(
                { query: query ?? '', variables: now },
                {
                  next: (value) => {
                    const cursor = cursorOf(value.data)
                    if (cursor !== null) now.after = cursor
                    sink.next(value as Parameters<typeof sink.next>[0])
                  },
                  error: (error) => sink.error(error),
                  // The server completed the subscription. Report an error so that useLive restarts
                  // it.
                  complete: () => sink.error(new Error('the server has ended these updates')),
                },
              ),
            }),
          }
        },
      }),
    ],
  })
  return { client, close: live.close }
}

/** Returns the headers of every API request. */
export function headers(session: Session | null): Record<string, string> {
  const all: Record<string, string> = {
    'Tandian-Beacon': '1', // beacon.ts reports visits
    'GraphQL-Require-Preflight': '1',
  }
  if (session !== null) all.Authorization = `Bearer ${session.token}`
  return all
}

async function request(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const sentAt = performance.now()
  const response = await fetch(input, { ...init, signal: withTimeout(init?.signal) })
  if (!isGatewayError(response.status)) reportReachable(sentAt)
  return response
}

/**
 * Drops data that is null in every field because of errors. Otherwise the cache would store these
 * nulls and overwrite valid data.
 */
function dropEmptyData(result: OperationResult): OperationResult {
  const { data, error, operation } = result
  if (operation.kind !== 'query' || error === undefined || !data) return result
  const nothing = Object.entries(data).every(
    ([name, value]) => value === null || name === '__typename',
  )
  return nothing ? { ...result, data: undefined } : result
}

/** Reports whether a proxy answered for an unreachable server. */
function isGatewayError(status: number): boolean {
  return status >= 502 && status <= 504
}

function handleError(
  error: CombinedError,
  operation: Operation,
  onUnauthenticated: () => void,
): void {
  if (error.networkError !== undefined) {
    const status = (error.response as Response | undefined)?.status
    const away = status === undefined || isGatewayError(status)
    if (operation.kind !== 'subscription' && away) reportUnreachable()
    return
  }
  if (error.graphQLErrors.some(({ extensions }) => extensions.code === 'UNAUTHENTICATED'))
    onUnauthenticated()
}

/** Returns a signal that aborts with `signal` or after the timeout. */
function withTimeout(signal: AbortSignal | null | undefined): AbortSignal {
  // AbortSignal.any is missing in some supported browsers.
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(), requestTimeout)
  const stop = () => {
    clearTimeout(timer)
    controller.abort()
  }
  if (signal?.aborted) stop()
  else signal?.addEventListener('abort', stop, { once: true })
  return controller.signal
}

/** Returns the cursor of a feed update. */
function cursorOf(data: unknown): string | null {
  const update = (data as { feedUpdates?: { cursor?: unknown } } | null | undefined)?.feedUpdates
  return typeof update?.cursor === 'string' ? update.cursor : null
}
