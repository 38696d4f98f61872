import { useSeconds } from '@/app/clock'
import { texts } from '@/i18n/texts'
import { padTwo } from '@/ui/padTwo'

import css from './Countdown.module.css'

const useTexts = texts(
  {
    left: (d: number, h: number, m: number) =>
      [d > 0 && many(d, 'day'), h > 0 && many(h, 'hour'), m > 0 && many(m, 'minute')]
        .filter(Boolean)
        .join(' ') || 'less than a minute',
    days: (n: number) => `${n}d`,
  },
  {
    left: (d, h, m) =>
      [d > 0 && `${d} 天`, h > 0 && `${h} 小时`, m > 0 && `${m} 分钟`].filter(Boolean).join(' ') ||
      '不到 1 分钟',
    days: (n) => `${n} 天`,
  },
)

function many(n: number, what: string): string {
  return n === 1 ? `1 ${what}` : `${n} ${what}s`
}

/** Counts down by the server's clock. */
export function Countdown({ to, label }: { to: string; label: string }) {
  const t = useTexts()
  const left = Math.max(0, Math.ceil(new Date(to).getTime() / 1000) - useSeconds())
  const days = Math.floor(left / 86_400)
  const [hours, minutes, seconds] = [
    Math.floor(left / 3600) % 24,
    Math.floor(left / 60) % 60,
    left % 60,
  ]
  // Screen readers read it on focus, not every second.
  return (
    <span className={css.countdown} role="timer" aria-live="off">
      <span className="visually-hidden">
        {label} {t.left(days, hours, minutes)}
      </span>
      <span aria-hidden="true" className={css.label}>
        {label}
      </span>
      <span aria-hidden="true" className={css.digits}>
        {days > 0 && <b className={css.days}>{t.days(days)}</b>}
        <b>{padTwo(hours)}</b>:<b>{padTwo(minutes)}</b>:<b>{padTwo(seconds)}</b>
      </span>
    </span>
  )
}
