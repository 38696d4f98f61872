// Each purchase has an idempotency key. With the same key the server returns the existing order.
// The key is stored before the first request and kept until the outcome is known, across reloads
// and crashes.

import type { SafeStorage } from '@/app/safeStorage'

/** A purchase whose outcome is not known yet. */
export interface PurchaseIntent {
  readonly key: string
  /** Start, in ms since 1970. */
  readonly at: number
}

/** The server remembers keys for 24 hours. Older keys must not be used again. */
export const maxIntentAge = 23 * 3_600_000 // ms

/**
 * Within this time a purchase resumes automatically. Later, the page asks before it retries,
 * because an automatic purchase would surprise the user.
 */
const autoResumeWithin = 5 * 60_000 // ms

export interface PurchaseIntents {
  /** Returns the pending intent, or null. */
  readonly open: (userId: string, voucherId: string) => PurchaseIntent | null
  /** Returns `of` or else the pending intent, if it is recent enough to resume automatically. */
  readonly recent: (
    userId: string,
    voucherId: string,
    of?: PurchaseIntent | null,
  ) => PurchaseIntent | null
  /**
   * Returns `of` if its response was lost, else the pending intent, else a new one. It stores the
   * intent before it returns.
   */
  readonly begin: (userId: string, voucherId: string, of?: PurchaseIntent | null) => PurchaseIntent
  /** Removes the intent once its outcome is known. A newer intent stays. */
  readonly end: (userId: string, voucherId: string, intent: PurchaseIntent) => void
}

interface Dependencies {
  readonly storage: SafeStorage
  readonly now?: () => number
  readonly randomKey?: () => string
}

/** Creates the intents in a storage. If the storage fails, they live in memory. */
export function createPurchaseIntents({
  storage,
  now = Date.now,
  randomKey = newKey,
}: Dependencies): PurchaseIntents {
  const memory = new Map<string, PurchaseIntent>()

  const open = (userId: string, voucherId: string): PurchaseIntent | null => {
    const slot = storageKey(userId, voucherId)
    const intent = memory.get(slot) ?? read(storage, slot)
    if (intent === null) return null
    if (within(intent, maxIntentAge)) return intent
    drop(slot)
    return null
  }
  const within = ({ at }: PurchaseIntent, time: number) => Math.abs(now() - at) < time
  const keep = (slot: string, intent: PurchaseIntent) => {
    try {
      storage.setItem(slot, JSON.stringify(intent))
    } catch {
      memory.set(slot, intent)
    }
  }
  const drop = (slot: string) => {
    memory.delete(slot)
    try {
      storage.removeItem(slot)
    } catch {
      // Then nothing is stored.
    }
  }
  return {
    open,
    recent: (userId, voucherId, of = null) => {
      const intent = of ?? open(userId, voucherId)
      return intent !== null && within(intent, autoResumeWithin) ? intent : null
    },
    begin: (userId, voucherId, of = null) => {
      const known = open(userId, voucherId)
      // Another tab may have received the response and ended the intent. A new key would buy a
      // second voucher.
      const pending = of !== null && within(of, maxIntentAge) ? of : null
      const intent = pending ?? known ?? { key: randomKey(), at: now() }
      if (known === null) keep(storageKey(userId, voucherId), intent)
      return intent
    },
    end: (userId, voucherId, intent) => {
      if (open(userId, voucherId)?.key === intent.key) drop(storageKey(userId, voucherId))
    },
  }
}

function storageKey(userId: string, voucherId: string): string {
  return `tandian.intent:${userId}:${voucherId}`
}

function read(storage: SafeStorage, slot: string): PurchaseIntent | null {
  try {
    const { key, at } = JSON.parse(storage.getItem(slot) ?? '{}') as Partial<PurchaseIntent>
    return typeof key === 'string' && typeof at === 'number' ? { key, at } : null
  } catch {
    return null
  }
}

/** Returns 128 random bits. crypto.randomUUID needs a secure context. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Response to an attempt to buy. */
export interface PurchaseResponse {
  /** The order, if the response has one. */
  readonly order?: { readonly id: string } | null | undefined
  /** Codes of the user errors; undefined without a response. */
  readonly userErrors?: readonly string[] | undefined
  /** Code of the request error; null without a code, for example a network error. */
  readonly failure?: string | null | undefined
}

/** Outcome of an attempt. Only `unknown` keeps the intent. */
export type PurchaseOutcome =
  | { readonly kind: 'ordered'; readonly orderId: string }
  | { readonly kind: 'existing'; readonly orderId: string | null }
  | { readonly kind: 'refused'; readonly code: string }
  | { readonly kind: 'unknown'; readonly code: string | null }

// The request was invalid and had no effect. Retries would fail too.
const permanentErrors = new Set([
  'BAD_USER_INPUT',
  'FORBIDDEN',
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
])

/** Interprets the response to an attempt. Uncertain cases are `unknown`. */
export function interpretResponse({
  order,
  userErrors,
  failure,
}: PurchaseResponse): PurchaseOutcome {
  if (typeof failure === 'string' && permanentErrors.has(failure)) {
    return { kind: 'refused', code: failure }
  }
  if (failure !== undefined || userErrors === undefined) {
    return { kind: 'unknown', code: failure ?? null }
  }
  const [code] = userErrors
  if (code === 'ALREADY_ORDERED') return { kind: 'existing', orderId: order?.id ?? null }
  if (code !== undefined) return { kind: 'refused', code }
  if (order) return { kind: 'ordered', orderId: order.id }
  return { kind: 'unknown', code: null }
}
