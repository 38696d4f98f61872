// Buying is asked with a key: asked again with the same one, the server answers with the order that
// it made then, and makes no other. So a key stands for one intent to buy, and is kept from before
// the first try until an answer has told what became of it, over reloads and crashes.

import type { Shelf } from '@/app/shelf'

/** Somebody wants one piece of a voucher, and does not know yet whether it is there. */
export interface Intent {
  readonly key: string
  /** When it began, in ms since 1970. */
  readonly at: number
}

/** The server remembers keys for a day. One that it may have forgotten must not be used again. */
export const longest = 23 * 3_600_000 // ms

/**
 * Who comes back this soon still waits for the piece. Later, to be buying is a surprise: a page that
 * is opened again does not buy what somebody wanted this morning, it asks whether to.
 */
const soon = 5 * 60_000 // ms

export interface Intents {
  /** The intent that still waits for an answer, if there is one. */
  readonly open: (userId: string, voucherId: string) => Intent | null
  /** `of`, or else the open intent, if it began so short a time ago that trying goes on by itself. */
  readonly recent: (userId: string, voucherId: string, of?: Intent | null) => Intent | null
  /**
   * `of`, whose answer did not arrive here, or else the open intent, or a new one. It is kept before
   * this returns.
   */
  readonly begin: (userId: string, voucherId: string, of?: Intent | null) => Intent
  /** What became of the intent is known. A newer one stays. */
  readonly end: (userId: string, voucherId: string, intent: Intent) => void
}

interface Surroundings {
  readonly shelf: Shelf
  readonly now?: () => number
  readonly randomKey?: () => string
}

/** Keeps intents on a shelf; where it takes nothing, for as long as the page lives. */
export function makeIntents({ shelf, now = Date.now, randomKey = newKey }: Surroundings): Intents {
  const unshelved = new Map<string, Intent>()

  const open = (userId: string, voucherId: string): Intent | null => {
    const place = placeOf(userId, voucherId)
    const intent = unshelved.get(place) ?? read(shelf, place)
    if (intent === null) return null
    if (within(intent, longest)) return intent
    drop(place)
    return null
  }
  const within = ({ at }: Intent, time: number) => Math.abs(now() - at) < time
  const keep = (place: string, intent: Intent) => {
    try {
      shelf.setItem(place, JSON.stringify(intent))
    } catch {
      unshelved.set(place, intent)
    }
  }
  const drop = (place: string) => {
    unshelved.delete(place)
    try {
      shelf.removeItem(place)
    } catch {
      // Then there is nothing on it.
    }
  }
  return {
    open,
    recent: (userId, voucherId, of = null) => {
      const intent = of ?? open(userId, voucherId)
      return intent !== null && within(intent, soon) ? intent : null
    },
    begin: (userId, voucherId, of = null) => {
      const known = open(userId, voucherId)
      // Another tab may have heard the answer, and ended it: a new key would buy a second piece.
      const unheard = of !== null && within(of, longest) ? of : null
      const intent = unheard ?? known ?? { key: randomKey(), at: now() }
      if (known === null) keep(placeOf(userId, voucherId), intent)
      return intent
    },
    end: (userId, voucherId, intent) => {
      if (open(userId, voucherId)?.key === intent.key) drop(placeOf(userId, voucherId))
    },
  }
}

function placeOf(userId: string, voucherId: string): string {
  return `tandian.intent:${userId}:${voucherId}`
}

function read(shelf: Shelf, place: string): Intent | null {
  try {
    const { key, at } = JSON.parse(shelf.getItem(place) ?? '{}') as Partial<Intent>
    return typeof key === 'string' && typeof at === 'number' ? { key, at } : null
  } catch {
    return null
  }
}

/** 128 bits at random. Pages of plain http have no crypto.randomUUID. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** What came back of a try to buy. */
export interface Answer {
  /** The order in the answer, if there was one. */
  readonly order?: { readonly id: string } | null | undefined
  /** The codes of the reasons in the answer; undefined if there was no answer. */
  readonly refusals?: readonly string[] | undefined
  /** The code of an error instead of an answer; null for one without, such as that of a network. */
  readonly failure?: string | null | undefined
}

/** What a try to buy tells about its intent: only `unknown` leaves it open. */
export type Verdict =
  | { readonly kind: 'ordered'; readonly orderId: string }
  | { readonly kind: 'had'; readonly orderId: string | null }
  | { readonly kind: 'refused'; readonly code: string }
  | { readonly kind: 'unknown'; readonly code: string | null }

// The request itself was wrong, and did nothing: no other try would do more.
const wrong = new Set([
  'BAD_USER_INPUT',
  'FORBIDDEN',
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
])

/** Judges the answer to a try. Whatever is not surely over stays open. */
export function judge({ order, refusals, failure }: Answer): Verdict {
  if (typeof failure === 'string' && wrong.has(failure)) {
    return { kind: 'refused', code: failure }
  }
  if (failure !== undefined || refusals === undefined) {
    return { kind: 'unknown', code: failure ?? null }
  }
  const [code] = refusals
  if (code === 'ALREADY_ORDERED') return { kind: 'had', orderId: order?.id ?? null }
  if (code !== undefined) return { kind: 'refused', code }
  if (order) return { kind: 'ordered', orderId: order.id }
  return { kind: 'unknown', code: null }
}
