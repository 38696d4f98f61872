/** Opening hours of a weekday, as the API returns them. */
export interface OpeningDay {
  /** 1 is Monday, 7 is Sunday. */
  readonly weekday: number
  /** HH:MM; 24:00 and later are after midnight. */
  readonly ranges: readonly { readonly opens: string; readonly closes: string }[]
}

/** Consecutive weekdays with equal hours. */
export interface DayGroup {
  readonly first: number
  readonly last: number
  /** Texts such as 17:30–22:00; empty if closed. */
  readonly ranges: readonly string[]
  /** Open around the clock. */
  readonly allDay: boolean
}

/** Joins consecutive days with equal hours. */
export function groupDays(week: readonly OpeningDay[]): DayGroup[] {
  const groups: DayGroup[] = []
  for (const { weekday, ranges } of week) {
    const group = {
      first: weekday,
      last: weekday,
      ranges: ranges.map(({ opens, closes }) => `${clockOf(opens)}–${clockOf(closes)}`),
      allDay: ranges.length === 1 && ranges[0]!.opens === '00:00' && ranges[0]!.closes === '24:00',
    }
    const before = groups.at(-1)
    if (before !== undefined && String(before.ranges) === String(group.ranges)) {
      groups[groups.length - 1] = { ...before, last: weekday }
    } else groups.push(group)
  }
  return groups
}

/** Returns the time on a clock: 9:00 for 09:00, 2:00 for 26:00. Midnight as an end is 24:00. */
function clockOf(time: string): string {
  const [hours, minutes] = time.split(':')
  const hour = Number(hours)
  return `${hour < 24 || time === '24:00' ? hour : hour % 24}:${minutes}`
}

/** Whether a shop is open, and when that changes. */
export interface OpenState {
  readonly open: boolean
  /** Null if unknown or never. */
  readonly change: ChangeTime | null
}

/** The next change of a shop's state. */
export interface ChangeTime {
  /** In the shop's time zone. */
  readonly time: string
  /** Within 24 hours. */
  readonly soon: boolean
  /** Days from today, by the shop's calendar. */
  readonly inDays: number
  /** Midnight of the day, as if it were UTC. */
  readonly date: number
}

/**
 * Returns the state at `now` (ms), from a response that can be older. It is unknown when the state
 * changes after the next change.
 */
export function openStateAt(
  now: number,
  isOpen: boolean,
  nextChange: string | null,
  timeZone: string,
): OpenState {
  if (nextChange === null) return { open: isOpen, change: null }
  const at = Date.parse(nextChange)
  if (at <= now) return { open: !isOpen, change: null }
  const zoned = zonedClock(timeZone)
  if (zoned === null) return { open: isOpen, change: null }
  const { time } = zoned(at)
  // Closing at midnight belongs to the day that ends.
  const midnight = isOpen && time === '0:00'
  const { date } = zoned(midnight ? at - 1 : at)
  const inDays = (date - zoned(now).date) / day
  return {
    open: isOpen,
    change: { time: midnight ? '24:00' : time, soon: at - now < day, inDays, date },
  }
}

/** Returns today's weekday in a time zone, 1 is Monday; null if the browser lacks the zone. */
export function weekdayAt(now: number, timeZone: string): number | null {
  const zoned = zonedClock(timeZone)
  return zoned === null ? null : weekdayOf(zoned(now).date)
}

/** Returns the weekday of a date in UTC; 1 is Monday. */
export function weekdayOf(date: number): number {
  return ((date / day + 3) % 7) + 1 // 1 January 1970 was a Thursday
}

const day = 86_400_000 // ms

/**
 * Returns a function that reads the clock and the date in a time zone; null if the browser lacks the
 * zone. Older browsers lack renamed zones. The date is its midnight, as if it were UTC.
 */
function zonedClock(timeZone: string): ((at: number) => { time: string; date: number }) | null {
  let format: Intl.DateTimeFormat
  try {
    format = new Intl.DateTimeFormat('en-GB', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: '2-digit',
    })
  } catch {
    return null
  }
  return (at) => {
    const parts = Object.fromEntries(
      format.formatToParts(at).map(({ type, value }) => [type, value]),
    )
    const date = Date.UTC(Number(parts.year), Number(parts.month) - 1, Number(parts.day))
    return { time: `${Number(parts.hour)}:${parts.minute}`, date }
  }
}
