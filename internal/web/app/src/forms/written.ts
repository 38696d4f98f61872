// What people write into fields, and what the API takes.

import { two } from '@/ui/two'

import { readNumber } from './number'

const currency = /^\s*[¥￥]|[¥￥元圆]\s*$/u

/**
 * Yuan, such as 12.50, 12,50, ¥12 or 1,200, in minor units. It returns null if it is no amount, and
 * 'ambiguous' for one such as 1.200.
 */
export function amountOf(text: string): number | 'ambiguous' | null {
  const typed = readNumber(text.replace(currency, ''), { decimals: 2 })
  if (typed === null || typed === 'ambiguous') return typed
  // Put together as text: 1.15 * 100 is less than 115.
  const minor = Number(typed.whole + typed.fraction.padEnd(2, '0'))
  return Number.isSafeInteger(minor) ? minor : null
}

/** Yuan in minor units, as [amountOf] reads them; null also for what can be read in two ways. */
export function minorOf(text: string): number | null {
  const minor = amountOf(text)
  return minor === 'ambiguous' ? null : minor
}

/** Whether an amount is written so that nobody can read another one in it. */
export function isPlainAmount(text: string): boolean {
  return /^\d+(\.\d\d?)?$/.test(text.trim())
}

/** Minor units as one writes them into a field; nothing if there are none. */
export function yuanOf(minor: number | null): string {
  if (minor === null) return ''
  return minor % 100 === 0 ? String(minor / 100) : (minor / 100).toFixed(2)
}

/** What a field for moments shows, in the zone of the browser. */
export function localOf(moment: string | Date): string {
  const at = new Date(moment)
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
  return `${day}T${two(at.getHours())}:${two(at.getMinutes())}`
}

/** The moment (RFC 3339) of such a field; null if it is empty. */
export function momentOf(local: string): string | null {
  const at = new Date(local)
  return Number.isNaN(at.getTime()) ? null : at.toISOString()
}

/** What is written, without spaces around it; null for nothing. */
export function textOf(written: string): string | null {
  const text = written.trim()
  return text === '' ? null : text
}

/** A whole number, with a sign or without, such as 100, 1,200 or −10; null if it is none. */
export function wholeOf(written: string): number | null {
  return valueOf(readNumber(written, { decimals: 0, signed: true }))
}

/** Degrees, such as 30.2448 or −30,2448; null if they are none. */
export function degreesOf(written: string): number | null {
  return valueOf(readNumber(written, { decimals: 20, signed: true, groups: false }))
}

function valueOf(typed: ReturnType<typeof readNumber>): number | null {
  if (typed === null || typed === 'ambiguous') return null
  const value = Number(`${typed.whole}.${typed.fraction || 0}`)
  if (!Number.isFinite(value)) return null
  return typed.negative && value !== 0 ? -value : value
}
