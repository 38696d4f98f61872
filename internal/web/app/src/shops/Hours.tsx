import { ChevronDown } from 'lucide-react'
import { useEffect, useEffectEvent, useState } from 'react'

import { serverNow } from '@/app/clock'

import type { ShopHoursFragment } from './hours.gql'
import css from './Hours.module.css'
import { groupDays, openStateAt, weekdayAt } from './openingHours'
import { useHoursTexts } from './useHoursTexts'

type Hours = NonNullable<ShopHoursFragment['hours']>

interface HoursProps {
  readonly shop: ShopHoursFragment & { readonly hours: Hours }
  /** Called when the state has changed and the next change is unknown. */
  readonly onChange: () => void
}

/** Whether a shop is open now, and its hours of the week, in its time zone. */
export function Hours({ shop: { hours, isOpen, timeZone }, onChange }: HoursProps) {
  const texts = useHoursTexts()
  const now = useNow(hours.nextChange, onChange)
  const state = openStateAt(now, isOpen === true, hours.nextChange, timeZone)
  const [text, change] = texts.state(state, hours.week)
  const today = weekdayAt(now, timeZone)
  return (
    <details className={css.hours} data-open={state.open}>
      <summary>
        <span>
          <strong>{text}</strong>
          {change !== undefined && ` · ${change}`}
        </span>
        <ChevronDown aria-hidden="true" size={18} />
      </summary>
      <table>
        <tbody>
          {groupDays(hours.week).map((group) => (
            <tr
              key={group.first}
              aria-current={
                today !== null && group.first <= today && today <= group.last ? 'date' : undefined
              }
            >
              <th scope="row">{texts.days(group)}</th>
              <td>{texts.ranges(group)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  )
}

const longest = 86_400_000 // ms; timers cannot wait for a month

/** Returns the server's time in ms. It rerenders, and calls `onChange`, when the change passes. */
function useNow(nextChange: string | null, onChange: () => void): number {
  const [now, setNow] = useState(serverNow)
  const changed = useEffectEvent(onChange)
  useEffect(() => {
    if (nextChange === null) return undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    const wait = () => {
      const left = Date.parse(nextChange) - serverNow()
      timer = setTimeout(left > longest ? wait : change, Math.min(left + 1000, longest))
    }
    const change = () => {
      setNow(serverNow())
      changed()
    }
    if (Date.parse(nextChange) > serverNow()) wait()
    return () => clearTimeout(timer)
  }, [nextChange])
  return now
}
