// Conversions between field text and API values.

import { padTwo } from '@/ui/padTwo'

import { readNumber } from './number'

const currency = /^\s*[¥￥]|[¥￥元圆]\s*$/u

/**
 * Parses yuan such as 12.50, 12,50, ¥12 or 1,200 into minor units. It returns null if the text is
 * not an amount, and 'ambiguous' for text such as 1.200.
 */
export function parseAmount(text: string): number | 'ambiguous' | null {
  const typed = readNumber(text.replace(currency, ''), { decimals: 2 })
  if (typed === null || typed === 'ambiguous') return typed
  // Joined as text, because 1.15 * 100 is less than 115.
  const minor = Number(typed.whole + typed.fraction.padEnd(2, '0'))
  return Number.isSafeInteger(minor) ? minor : null
}

/** Parses yuan into minor units like [parseAmount]; null also for ambiguous text. */
export function parseMinor(text: string): number | null {
  const minor = parseAmount(text)
  return minor === 'ambiguous' ? null : minor
}

/** Reports whether an amount has only one possible reading. */
export function isPlainAmount(text: string): boolean {
  return /^\d+(\.\d\d?)?$/.test(text.trim())
}

/** Formats minor units for a field; '' for null. */
export function formatYuan(minor: number | null): string {
  if (minor === null) return ''
  return minor % 100 === 0 ? String(minor / 100) : (minor / 100).toFixed(2)
}

/** Formats a time for a datetime-local field, in the browser's time zone. */
export function toLocalInput(moment: string | Date): string {
  const at = new Date(moment)
  const day = `${at.getFullYear()}-${padTwo(at.getMonth() + 1)}-${padTwo(at.getDate())}`
  return `${day}T${padTwo(at.getHours())}:${padTwo(at.getMinutes())}`
}

/** Parses a datetime-local field into RFC 3339; null if it is empty. */
export function fromLocalInput(local: string): string | null {
  const at = new Date(local)
  return Number.isNaN(at.getTime()) ? null : at.toISOString()
}

/** Trims a text; null if it is empty. */
export function trimToNull(text: string): string | null {
  const trimmed = text.trim()
  return trimmed === '' ? null : trimmed
}

/** Parses an integer with optional sign, such as 100, 1,200 or −10; null if invalid. */
export function parseInteger(text: string): number | null {
  return valueOf(readNumber(text, { decimals: 0, signed: true }))
}

/** Parses degrees such as 30.2448 or −30,2448; null if invalid. */
export function parseDegrees(text: string): number | null {
  return valueOf(readNumber(text, { decimals: 20, signed: true, groups: false }))
}

function valueOf(typed: ReturnType<typeof readNumber>): number | null {
  if (typed === null || typed === 'ambiguous') return null
  const value = Number(`${typed.whole}.${typed.fraction || 0}`)
  if (!Number.isFinite(value)) return null
  return typed.negative && value !== 0 ? -value : value
}
