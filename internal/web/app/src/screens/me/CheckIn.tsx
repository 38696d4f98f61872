import { CalendarCheck, Check, ChevronLeft, ChevronRight, Flame } from 'lucide-react'
import { useState } from 'react'

import { useApiQuery } from '@/api/useApiQuery'
import { useApiMutation } from '@/api/useApiMutation'
import { useFormat } from '@/i18n/format'
import { useLanguage } from '@/i18n/language'
import { texts } from '@/i18n/texts'
import { Button, IconButton } from '@/ui/Button'
import { Skeleton } from '@/ui/Skeleton'
import { ErrorState } from '@/ui/State'
import { toast } from '@/ui/toast'

import { CheckInDocument, MyCheckInsDocument } from './check-in.gql'
import css from './CheckIn.module.css'
import shared from './Me.module.css'

const useTexts = texts(
  {
    title: 'Check-in',
    go: 'Check in',
    done: 'Checked in today',
    earned: (n: number) => `+${n} points`,
    already: 'You already checked in today.',
    streak: (n: number) => `${n}-day streak`,
    noStreak: 'Check in daily for 5 points.',
    month: (n: number) => (n === 1 ? '1 check-in' : `${n} check-ins`),
    before: 'Previous month',
    after: 'Next month',
    checked: 'checked in',
    today: 'today',
  },
  {
    title: '签到',
    go: '签到',
    done: '今日已签到',
    earned: (n) => `积分 +${n}`,
    already: '今天已经签到过了。',
    streak: (n) => `已连续签到 ${n} 天`,
    noStreak: '每天签到可得 5 积分。',
    month: (n) => `签到 ${n} 天`,
    before: '上个月',
    after: '下个月',
    checked: '已签到',
    today: '今天',
  },
)

/** Today's check-in, the streak and a month calendar. */
export function CheckIn() {
  const t = useTexts()
  const { month: nameOf } = useFormat()
  const [shown, setShown] = useState<string | null>(null) // null is the current month
  const [{ data: now, error }, refetch] = useApiQuery({ query: MyCheckInsDocument, variables: {} })
  const [{ data: then, error: missing }, refetchMonth] = useApiQuery({
    query: MyCheckInsDocument,
    variables: { month: shown },
    pause: shown === null,
  })
  const [checkIn, busy] = useApiMutation(CheckInDocument)

  const current = now?.me?.checkIns
  if (!current) {
    return (
      <section className={shared.card} aria-label={t.title}>
        {error ? (
          <ErrorState error={error} onRetry={() => refetch({ requestPolicy: 'network-only' })} />
        ) : (
          <Skeleton shape="text" count={3} />
        )}
      </section>
    )
  }

  const { today } = current
  const done = current.days.some((day) => dayOf(current.month, day) === today)
  const month = shown ?? current.month
  const other = then?.me?.checkIns
  const loaded = shown === null ? current : other?.month === shown ? other : null

  const press = async () => {
    const result = await checkIn({})
    if (!result.ok) return
    const { pointsEarned } = result.value
    setShown(null)
    toast(pointsEarned > 0 ? t.earned(pointsEarned) : t.already)
  }
  const changeMonth = (by: number) => {
    const to = monthAfter(month, by)
    setShown(to === current.month ? null : to)
  }

  return (
    <section
      className={shared.card}
      aria-labelledby="check-in"
      data-checked-in={done}
      data-streak={current.streak}
    >
      <div className={css.head}>
        <div>
          <h2 id="check-in">{t.title}</h2>
          <p className={css.streak}>
            {current.streak > 0 && <Flame aria-hidden="true" size={18} />}
            {current.streak > 0 ? t.streak(current.streak) : t.noStreak}
          </p>
        </div>
        <Button kind={done ? 'quiet' : 'primary'} busy={busy} onClick={() => void press()}>
          {done ? (
            <Check aria-hidden="true" size={18} />
          ) : (
            <CalendarCheck aria-hidden="true" size={18} />
          )}
          {done ? t.done : t.go}
        </Button>
      </div>
      <div className={css.month}>
        <IconButton label={t.before} onClick={() => changeMonth(-1)}>
          <ChevronLeft aria-hidden="true" />
        </IconButton>
        <p aria-live="polite">
          <strong>{nameOf(month)}</strong>
          <span>{loaded ? t.month(loaded.count) : '…'}</span>
        </p>
        <IconButton
          label={t.after}
          disabled={month >= current.month}
          onClick={() => changeMonth(1)}
        >
          <ChevronRight aria-hidden="true" />
        </IconButton>
      </div>
      {missing && !loaded ? (
        <ErrorState
          error={missing}
          onRetry={() => refetchMonth({ requestPolicy: 'network-only' })}
        />
      ) : (
        <Calendar month={month} days={loaded?.days ?? []} today={today} />
      )}
    </section>
  )
}

interface CalendarProps {
  readonly month: string
  /** Days with a check-in. */
  readonly days: readonly number[]
  /** Date in the server's time zone, possibly of another month. */
  readonly today: string
}

function Calendar({ month, days, today }: CalendarProps) {
  const t = useTexts()
  const { month: nameOf } = useFormat()
  const language = useLanguage()
  const locale = language === 'zh' ? 'zh-CN' : 'en-GB'
  const narrow = new Intl.DateTimeFormat(locale, { weekday: 'narrow', timeZone: 'UTC' })
  const long = new Intl.DateTimeFormat(locale, { weekday: 'long', timeZone: 'UTC' })
  return (
    <table className={css.calendar} data-month={month}>
      <caption className="visually-hidden">{nameOf(month)}</caption>
      <thead>
        <tr>
          {weekdays.map((day) => (
            <th key={day.getTime()} scope="col">
              <abbr title={long.format(day)}>{narrow.format(day)}</abbr>
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {weeksOf(month).map((week, w) => (
          // oxlint-disable-next-line react/no-array-index-key
          <tr key={w}>
            {week.map((day, d) => {
              const weekday = weekdays[d]?.getTime()
              if (day === null) return <td key={weekday} />
              const checked = days.includes(day)
              const isToday = today === dayOf(month, day)
              return (
                <td key={weekday} data-day={day} data-checked={checked || undefined}>
                  <span
                    className={checked ? css.checked : css.open}
                    aria-current={isToday ? 'date' : undefined}
                  >
                    {day}
                    {checked && <Check aria-hidden="true" size={12} strokeWidth={3} />}
                    {checked && <span className="visually-hidden">, {t.checked}</span>}
                    {isToday && <span className="visually-hidden">, {t.today}</span>}
                  </span>
                </td>
              )
            })}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** A week from Monday to Sunday. */
const weekdays = [1, 2, 3, 4, 5, 6, 7].map((day) => new Date(Date.UTC(2024, 0, day)))

/** Returns the days of a month (yyyy-mm) in weeks from Monday; null outside the month. */
function weeksOf(month: string): (number | null)[][] {
  const first = new Date(`${month}-01T00:00:00Z`)
  const count = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0)).getUTCDate()
  const before = (first.getUTCDay() + 6) % 7
  return Array.from({ length: Math.ceil((before + count) / 7) }, (_week, w) =>
    Array.from({ length: 7 }, (_day, d) => {
      const day = w * 7 + d - before + 1
      return day >= 1 && day <= count ? day : null
    }),
  )
}

function monthAfter(month: string, by: number): string {
  const at = new Date(`${month}-01T00:00:00Z`)
  at.setUTCMonth(at.getUTCMonth() + by)
  return at.toISOString().slice(0, 7)
}

function dayOf(month: string, day: number): string {
  return `${month}-${String(day).padStart(2, '0')}`
}
