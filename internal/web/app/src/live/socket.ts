import { createClient, type Client } from 'graphql-ws'

import { doubt, onReturn, reached } from './network'

/** How the socket of live updates stands. `idle`: nobody follows anything. */
export type Socket = 'idle' | 'connecting' | 'open' | 'waiting'

export interface LiveOptions {
  /** The session's token; null for nobody. */
  readonly token: string | null
  /** The server does not know the token. */
  readonly onUnknown: () => void
}

// Codes that sockets close with.
const byUs = 1000
const withoutAWord = 1006
const unknownSession = 4401
const unansweredPing = 4499 // ours, when it is terminated
const replaced = 4513 // the server's: this user has too many sockets, and this was the oldest

const ping = 10_000 // ms
const patience = 5_000 // ms for the answer to a ping
const longest = 30_000 // ms between tries

const reopens = new Set<() => void>()

/**
 * Calls `tell` each time that the socket is open again after a break. Updates begin with how things
 * stand then: what ended meanwhile is not among them.
 */
export function onReopen(tell: () => void): () => void {
  reopens.add(tell)
  return () => reopens.delete(tell)
}

/**
 * Opens the socket for subscriptions when the first begins. It is opened again for as long as there
 * are any, and each begins anew with what its variables say then.
 */
export function openLive({ token, onUnknown }: LiveOptions): Client & { close: () => void } {
  const address = new URL('/graphql', window.location.href)
  address.protocol = address.protocol === 'https:' ? 'wss:' : 'ws:'

  let last = byUs // code of the last close
  let broken = false
  let began = 0 // when it last began to connect, by performance.now()
  let unanswered: ReturnType<typeof setTimeout> | undefined
  const client = createClient({
    url: address.href,
    lazy: true,
    lazyCloseTimeout: 3000,
    connectionParams: () => (token === null ? {} : { Authorization: `Bearer ${token}` }),
    connectionAckWaitTimeout: 10_000,
    keepAlive: ping,
    retryAttempts: Infinity,
    retryWait: (retries) => waited(retries, last),
    // All codes are worth another try but those that the client itself takes for fatal.
    shouldRetry: () => true,
    on: {
      connecting: () => {
        began = performance.now()
        say('connecting')
      },
      connected: () => {
        say('open')
        reached(began)
        if (broken) for (const tell of reopens) tell()
        broken = false
      },
      ping: (received) => {
        // A socket whose network is gone says nothing at all: only a missing pong tells.
        if (!received) unanswered = setTimeout(() => client.terminate(), patience)
      },
      pong: (received) => {
        if (received) clearTimeout(unanswered)
      },
      closed: (event) => {
        clearTimeout(unanswered)
        const { code } = event as CloseEvent
        last = code
        if (code === byUs) {
          say('idle') // nobody follows anything
          return
        }
        broken = true
        say('waiting')
        if (code === unknownSession) onUnknown()
        else if (code === withoutAWord || code === unansweredPing) void doubt()
      },
    },
  })

  // Browsers leave a socket open when the network goes: it is of no use any more.
  const leave = () => client.terminate()
  window.addEventListener('offline', leave)
  return Object.assign(client, {
    close: () => {
      window.removeEventListener('offline', leave)
      // A socket that the server has closed meanwhile says so here again.
      Promise.resolve(client.dispose()).catch(() => undefined)
      say('idle')
    },
  })
}

/** For tests, and for who debugs: the page itself shows what network.ts knows. */
function say(state: Socket): void {
  document.documentElement.dataset.socket = state
}

/**
 * Waits before a try: at random, so that not all clients come back at once, and longer each time.
 * Whoever has no network waits for it; a tab that gave way to others, until somebody looks at it.
 */
function waited(retries: number, code: number): Promise<void> {
  return new Promise((resolve) => {
    const aside = code === replaced
    const most = Math.min(1000 * 2 ** retries, longest)
    const timer = aside || !navigator.onLine ? undefined : setTimeout(go, Math.random() * most)
    const forget = onReturn(() => {
      if (!aside) go()
    })
    document.addEventListener('visibilitychange', seen)
    function seen() {
      if (aside && document.visibilityState === 'visible') go()
    }
    function go() {
      clearTimeout(timer)
      forget()
      document.removeEventListener('visibilitychange', seen)
      resolve()
    }
  })
}
