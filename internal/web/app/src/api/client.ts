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

import { lost, reached } from '@/live/network'
import { openLive } from '@/live/socket'
import { expire, type Session } from '@/session/session'

import { apiCache } from './cache'
import { hashOf } from './document'
import { inOrder } from './inOrder'

/** What speaks with the server for one session, or for nobody. */
export interface Api {
  readonly client: Client
  /** Ends the socket of live updates. */
  readonly close: () => void
}

/** Longer than the server takes to refuse. */
const patience = 30_000 // ms

/** Makes the client of a session. Another session gets another client, with a cache of its own. */
export function openApi(session: Session | null): Api {
  const onUnknown = () => {
    if (session !== null) expire(session.token)
  }
  const live = openLive({ token: session?.token ?? null, onUnknown })

  const client = new Client({
    url: '/graphql',
    preferGetMethod: false,
    fetchOptions: { headers: headers(session) },
    fetch: request,
    exchanges: [
      mapExchange({
        onError: (error, operation) => notice(error, operation, onUnknown),
      }),
      apiCache(session?.userId ?? null),
      mapExchange({ onResult: withoutNothing }),
      inOrder(),
      // Only the hash of a document travels. A server that does not know it, an older or a newer
      // one than this build is of, asks for the text.
      persistedExchange({
        preferGetForPersistedQueries: false,
        enableForMutation: true,
        generateHash: async (_, document) => hashOf(document),
      }),
      fetchExchange,
      subscriptionExchange({
        forwardSubscription({ query, variables }) {
          // The client sends what stands in here when it connects, again too: after a break the
          // updates go on behind the last that was seen.
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
                  // By the server: who follows hears of it only as an error.
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

/** What every request of ours carries. */
export function headers(session: Session | null): Record<string, string> {
  const all: Record<string, string> = {
    'Tandian-Beacon': '1', // visits are told by beacon.ts
    'GraphQL-Require-Preflight': '1',
  }
  if (session !== null) all.Authorization = `Bearer ${session.token}`
  return all
}

async function request(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const asked = performance.now()
  const response = await fetch(input, { ...init, signal: within(init?.signal) })
  if (!isAway(response.status)) reached(asked)
  return response
}

/**
 * An answer that has only errors says nothing: from its nulls the cache would conclude that it
 * knows nothing of what other answers are about either.
 */
function withoutNothing(result: OperationResult): OperationResult {
  const { data, error, operation } = result
  if (operation.kind !== 'query' || error === undefined || !data) return result
  const nothing = Object.entries(data).every(
    ([name, value]) => value === null || name === '__typename',
  )
  return nothing ? { ...result, data: undefined } : result
}

/** A proxy answers so for a server that does not. */
function isAway(status: number): boolean {
  return status >= 502 && status <= 504
}

function notice(error: CombinedError, operation: Operation, onUnknown: () => void): void {
  if (error.networkError !== undefined) {
    const status = (error.response as Response | undefined)?.status
    const away = status === undefined || isAway(status)
    if (operation.kind !== 'subscription' && away) lost()
    return
  }
  if (error.graphQLErrors.some(({ extensions }) => extensions.code === 'UNAUTHENTICATED'))
    onUnknown()
}

/** Ends with the signal, or when nobody is patient any more. */
function within(signal: AbortSignal | null | undefined): AbortSignal {
  // Not AbortSignal.any: it is younger than the browsers of many phones.
  const leave = new AbortController()
  const timer = setTimeout(() => leave.abort(), patience)
  const stop = () => {
    clearTimeout(timer)
    leave.abort()
  }
  if (signal?.aborted) stop()
  else signal?.addEventListener('abort', stop, { once: true })
  return leave.signal
}

/** The place of an update of the feed. */
function cursorOf(data: unknown): string | null {
  const update = (data as { feedUpdates?: { cursor?: unknown } } | null | undefined)?.feedUpdates
  return typeof update?.cursor === 'string' ? update.cursor : null
}
