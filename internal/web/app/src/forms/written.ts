// What people write into fields, and what the API takes.

import { two } from '@/ui/two'

// Commas and spaces stand only before groups of three digits: who writes 12,50 means no 1250.
const amount = /^[¥￥]?\s*((?:\d{1,9}|\d{1,3}(?:[,，\s]\d{3}){1,2})(?:[.]\d{0,2})?)$/

/** Yuan, such as 12.50, ¥12 or 1,200, in minor units; null if it is no amount. */
export function minorOf(text: string): number | null {
  const [, written] = amount.exec(text.trim()) ?? []
  if (written === undefined) return null
  return Math.round(Number(written.replace(/[,，\s]/g, '')) * 100)
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

/** A number; null if it is none. */
export function numberOf(written: string): number | null {
  const text = written.trim().replace('−', '-')
  const value = Number(text)
  return text === '' || !Number.isFinite(value) ? null : value
}
