import { useLanguage } from '@/i18n/language'
import { texts } from '@/i18n/texts'

import {
  groupDays,
  weekdayOf,
  type DayGroup,
  type OpeningDay,
  type OpenState,
} from './openingHours'

const useTexts = texts(
  {
    open: 'Open',
    closed: 'Closed',
    allDay: 'Open 24 hours',
    closes: (time: string, day: string) => `closes ${day}${time}`,
    opens: (time: string, day: string) => `opens ${day}${time}`,
    opensTomorrow: (time: string) => `opens ${time} tomorrow`,
    days: (first: string, last: string) => `${first}–${last}`,
    daily: 'Every day',
    comma: ', ',
  },
  {
    open: '营业中',
    closed: '休息中',
    allDay: '24 小时营业',
    closes: (time, day) => `${day}${time} 打烊`,
    opens: (time, day) => `${day}${time} 开始营业`,
    opensTomorrow: (time) => `明天 ${time} 开始营业`,
    days: (first, last) => `${first}至${last}`,
    daily: '每天',
    comma: '、',
  },
)

/** Texts for opening hours. */
export interface HoursTexts {
  /** Such as "Open · closes 22:00", in parts. */
  readonly state: (state: OpenState, week: readonly OpeningDay[]) => readonly string[]
  /** Such as "Tue–Sun". */
  readonly days: (group: DayGroup) => string
  /** Such as "17:30–22:00". */
  readonly ranges: (group: DayGroup) => string
}

/** Returns the texts for opening hours in the user's language. */
export function useHoursTexts(): HoursTexts {
  const t = useTexts()
  const locale = useLanguage() === 'zh' ? 'zh-CN' : 'en-GB'
  const format = (date: number, options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(locale, { ...options, timeZone: 'UTC' }).format(date)
  // The first of January 2024 was a Monday.
  const weekday = (n: number) => format(Date.UTC(2024, 0, n), { weekday: 'short' })
  const dayOf = ({ days, date }: { days: number; date: number }) =>
    days < 7
      ? `${weekday(weekdayOf(date))} `
      : `${format(date, { month: 'short', day: 'numeric' })} `
  return {
    state: ({ open, change }, week) => {
      if (open && week.every((day) => groupDays([day])[0]!.allDay)) return [t.allDay]
      const text = open ? t.open : t.closed
      if (change === null) return [text]
      const { time, soon, days } = change
      if (open) return [text, t.closes(time, soon ? '' : dayOf(change))]
      if (days === 1) return [text, t.opensTomorrow(time)]
      return [text, t.opens(time, days === 0 ? '' : dayOf(change))]
    },
    days: ({ first, last }) =>
      first === 1 && last === 7
        ? t.daily
        : first === last
          ? weekday(first)
          : t.days(weekday(first), weekday(last)),
    ranges: ({ ranges, allDay }) =>
      allDay ? t.allDay : ranges.length === 0 ? t.closed : ranges.join(t.comma),
  }
}
