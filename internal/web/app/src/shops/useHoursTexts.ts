import { useLanguage } from '@/i18n/language'
import { texts } from '@/i18n/texts'

import {
  groupDays,
  weekdayOf,
  type ChangeTime,
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
    semicolon: '; ',
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
    semicolon: '；',
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
  /** All days in one line. */
  readonly week: (week: readonly OpeningDay[]) => string
}

/** Returns the texts for opening hours in the user's language. */
export function useHoursTexts(): HoursTexts {
  const t = useTexts()
  const locale = useLanguage() === 'zh' ? 'zh-CN' : 'en-GB'
  const format = (date: number, options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(locale, { ...options, timeZone: 'UTC' }).format(date)
  // The first of January 2024 was a Monday.
  const weekday = (n: number) => format(Date.UTC(2024, 0, n), { weekday: 'short' })
  const dayOf = ({ inDays, date }: ChangeTime) =>
    inDays < 7
      ? `${weekday(weekdayOf(date))} `
      : `${format(date, { month: 'short', day: 'numeric' })} `
  const days = ({ first, last }: DayGroup) =>
    first === 1 && last === 7
      ? t.daily
      : first === last
        ? weekday(first)
        : t.days(weekday(first), weekday(last))
  const ranges = (group: DayGroup) =>
    group.allDay ? t.allDay : group.ranges.length === 0 ? t.closed : group.ranges.join(t.comma)
  return {
    state: ({ open, change }, week) => {
      const [first] = groupDays(week)
      if (open && first?.last === 7 && first.allDay) return [t.allDay]
      const text = open ? t.open : t.closed
      if (change === null) return [text]
      const { time, soon, inDays } = change
      if (open) return [text, t.closes(time, soon ? '' : dayOf(change))]
      if (inDays === 1) return [text, t.opensTomorrow(time)]
      return [text, t.opens(time, inDays === 0 ? '' : dayOf(change))]
    },
    days,
    ranges,
    week: (week) => {
      const groups = groupDays(week)
      const [first] = groups
      if (groups.length === 1 && first?.allDay) return t.allDay
      return groups.map((group) => `${days(group)} ${ranges(group)}`).join(t.semicolon)
    },
  }
}
