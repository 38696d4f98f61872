import { useMemo } from 'react'

import { useLanguage, type Language } from './language'

/** Formats of values in the user's language. */
export interface Format {
  /** Money, from minor units. */
  readonly money: (minor: number) => string
  readonly number: (value: number) => string
  /** A share of 0.0 to 1.0 as a percentage. */
  readonly percent: (share: number) => string
  /** Metres, rounded: 40 m, 1.2 km. */
  readonly distance: (metres: number) => string
  /** A day, from a timestamp (RFC 3339) or a date (yyyy-mm-dd). */
  readonly date: (of: string) => string
  /** Day and time of a timestamp. */
  readonly moment: (of: string) => string
  /** Relative time, or the day after a week. */
  readonly ago: (of: string, now?: number) => string
  /** A month (yyyy-mm). */
  readonly month: (of: string) => string
}

export function useFormat(): Format {
  const language = useLanguage()
  return useMemo(() => formats(language), [language])
}

const day = 86_400 // seconds

/** Returns the number of midnights between two times, in the user's time zone. */
export function midnightsBetween(from: Date, to: Date): number {
  return (dayNumber(to) - dayNumber(from)) / 86_400_000
}

/** Returns the local date as if it were UTC, where every day has 24 hours. */
function dayNumber(at: Date): number {
  return Date.UTC(at.getFullYear(), at.getMonth(), at.getDate())
}

/** Adds the space between a digit and a Han character that Intl omits. Dates stay as they are. */
function spaced(text: string): string {
  return text.replace(/(\d)(?=\p{Script=Han})/gu, '$1 ')
}

/** Returns the formats of a language. */
export function formats(language: Language): Format {
  const locale = language === 'zh' ? 'zh-CN' : 'en-GB'
  const currency = { style: 'currency', currency: 'CNY', currencyDisplay: 'narrowSymbol' } as const
  const money = new Intl.NumberFormat(locale, currency)
  // `trailingZeroDisplay` needs Chrome 106.
  const wholeMoney = new Intl.NumberFormat(locale, { ...currency, maximumFractionDigits: 0 })
  const number = new Intl.NumberFormat(locale)
  const percent = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 1 })
  const metres = new Intl.NumberFormat(locale, { style: 'unit', unit: 'meter' })
  const kilometres = new Intl.NumberFormat(locale, {
    style: 'unit',
    unit: 'kilometer',
    maximumFractionDigits: 1,
  })
  const date = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' })
  const plain = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' })
  const moment = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' })
  const month = new Intl.DateTimeFormat(locale, { year: 'numeric', month: 'long', timeZone: 'UTC' })
  const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' })

  const formatDate = (of: string) =>
    of.length === 10 ? plain.format(new Date(`${of}T00:00:00Z`)) : date.format(new Date(of))
  return {
    money: (minor) => (minor % 100 === 0 ? wholeMoney : money).format(minor / 100),
    number: (value) => number.format(value),
    percent: (share) => percent.format(share),
    distance: (value) =>
      spaced(
        value < 995
          ? metres.format(Math.max(10, Math.round(value / 10) * 10))
          : kilometres.format(value / 1000),
      ),
    date: formatDate,
    moment: (of) => moment.format(new Date(of)),
    month: (of) => month.format(new Date(`${of}-01T00:00:00Z`)),
    ago: (of, now = Date.now()) => {
      const at = new Date(of)
      const seconds = (now - at.getTime()) / 1000
      const days = midnightsBetween(at, new Date(now))
      if (days > 7) return formatDate(of)
      // Days count midnights. On the last day of summer time there may be none after 24 hours.
      if (seconds >= day && days > 0) return spaced(relative.format(-days, 'day'))
      if (seconds > 3600) return spaced(relative.format(-Math.floor(seconds / 3600), 'hour'))
      if (seconds > 60) return spaced(relative.format(-Math.floor(seconds / 60), 'minute'))
      return language === 'zh' ? '刚刚' : 'just now'
    },
  }
}
