import { createClient, type Client } from 'graphql-ws'

import { checkReachable, onReconnect, reportReachable } from './network'

/** State of the subscription socket. `idle`: no active subscription. */
export type SocketState = 'idle' | 'connecting' | 'open' | 'waiting'

export interface LiveOptions {
  /** The session's token; null if signed out. */
  readonly token: string | null
  /** Called when the server rejects the token. */
  readonly onUnauthenticated: () => void
}

// WebSocket close codes.
const closedByClient = 1000
const abnormalClosure = 1006
const unauthenticated = 4401
const pingTimeout = 4499 // set by this client
const tooManySockets = 4513 // set by the server: too many sockets of this user, closes the oldest

const pingInterval = 10_000 // ms
const pongTimeout = 5_000 // ms to wait for a pong
const maxRetryWait = 30_000 // ms between retries

const listeners = new Set<() => void>()

/**
 * Calls `listener` each time the socket reopens after a break. Subscriptions restart with the
 * current state, so changes during the break are lost.
 */
export function onReopen(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/**
 * Opens the socket with the first subscription and reconnects while any is active. Each reconnect
 * sends the current variables.
 */
export function openSocket({
  token,
  onUnauthenticated,
}: LiveOptions): Client & { close: () => void } {
  const address = new URL('/graphql', window.location.href)
  address.protocol = address.protocol === 'https:' ? 'wss:' : 'ws:'

  let lastCode = closedByClient // code of the last close
  let interrupted = false
  let connectingSince = 0 // performance.now() of the last connect
  let pongTimer: ReturnType<typeof setTimeout> | undefined
  const client = createClient({
    url: address.href,
    lazy: true,
    lazyCloseTimeout: 3000,
    connectionParams: () => (token === null ? {} : { Authorization: `Bearer ${token}` }),
    connectionAckWaitTimeout: 10_000,
    keepAlive: pingInterval,
    retryAttempts: Infinity,
    retryWait: (retries) => retryDelay(retries, lastCode),
    // Retry after every code, except those that graphql-ws treats as fatal.
    shouldRetry: () => true,
    on: {
      connecting: () => {
        connectingSince = performance.now()
        setSocketState('connecting')
      },
      connected: () => {
        setSocketState('open')
        reportReachable(connectingSince)
        if (interrupted) for (const listener of listeners) listener()
        interrupted = false
      },
      ping: (received) => {
        // A socket without a network reports no error. Only a missing pong reveals it.
        if (!received) pongTimer = setTimeout(() => client.terminate(), pongTimeout)
      },
      pong: (received) => {
        if (received) clearTimeout(pongTimer)
      },
      closed: (event) => {
        clearTimeout(pongTimer)
        const { code } = event as CloseEvent
        lastCode = code
        if (code === closedByClient) {
          setSocketState('idle') // no active subscription
          return
        }
        interrupted = true
        setSocketState('waiting')
        if (code === unauthenticated) onUnauthenticated()
        else if (code === abnormalClosure || code === pingTimeout) void checkReachable()
      },
    },
  })

  // Browsers keep sockets open after losing the network, but they never recover.
  const onOffline = () => client.terminate()
  window.addEventListener('offline', onOffline)
  return Object.assign(client, {
    close: () => {
      window.removeEventListener('offline', onOffline)
      // dispose rejects if the server has already closed the socket.
      Promise.resolve(client.dispose()).catch(() => undefined)
      setSocketState('idle')
    },
  })
}

/** Exposes the state for tests and debugging. */
function setSocketState(state: SocketState): void {
  document.documentElement.dataset.socket = state
}

/**
 * Waits before a retry, with jitter and exponential backoff. Without a network it waits for one. A
 * tab that the server evicted waits until it is visible.
 */
function retryDelay(retries: number, code: number): Promise<void> {
  return new Promise((resolve) => {
    const evicted = code === tooManySockets
    const limit = Math.min(1000 * 2 ** retries, maxRetryWait)
    const timer = evicted || !navigator.onLine ? undefined : setTimeout(go, Math.random() * limit)
    const unsubscribe = onReconnect(() => {
      if (!evicted) go()
    })
    document.addEventListener('visibilitychange', onVisible)
    function onVisible() {
      if (evicted && document.visibilityState === 'visible') go()
    }
    function go() {
      clearTimeout(timer)
      unsubscribe()
      document.removeEventListener('visibilitychange', onVisible)
      resolve()
    }
  })
}
