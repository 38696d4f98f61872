import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react'
import type uPlot from 'uplot'

import { useTheme } from '@/app/theme'
import { useFormat } from '@/i18n/format'
import { useLanguage } from '@/i18n/language'
import { texts } from '@/i18n/texts'

import css from './Chart.module.css'

const useTexts = texts(
  { table: 'Show as a table', day: 'Day' },
  { table: '以表格显示', day: '日期' },
)

/** The names of colours in app/global.css that series have. */
export type Colour = 'accent' | 'good' | 'star' | 'quiet'

/** What is told of each day. */
export interface Series {
  readonly label: string
  readonly colour: Colour
  readonly kind: 'line' | 'bars'
  readonly values: readonly number[]
  /** How a value is written; as a number if not given. */
  readonly write?: (value: number) => string
  /** Has a scale of its own, at the right. */
  readonly apart?: boolean
}

interface ChartProps {
  readonly title: string
  /** The main figure, in words: what those hear who cannot see the picture. */
  readonly summary: string
  /** The days (yyyy-mm-dd), in order. */
  readonly days: readonly string[]
  readonly series: readonly Series[]
}

const height = 220 // pixels

/** Figures by day as a picture, and as a table for those who cannot see it or want them exactly. */
export function Chart({ title, summary, days, series }: ChartProps) {
  const t = useTexts()
  const { date, number } = useFormat()
  const [pointed, setPointed] = useState<number | null>(null)
  const place = usePlot({ days, series, onPoint: setPointed })
  const shown = pointed !== null && pointed < days.length ? pointed : days.length - 1
  const written = (one: Series, at: number) => (one.write ?? number)(one.values[at] ?? 0)
  const day = days[shown]
  return (
    <figure className={css.chart} data-chart={title}>
      <figcaption>
        <h3>{title}</h3>
        <p className={css.summary}>{summary}</p>
      </figcaption>
      {day !== undefined && (
        <ul className={css.legend} aria-hidden="true">
          <li className={css.day}>{date(day)}</li>
          {series.map((one) => (
            <li key={one.label}>
              <i className={css[one.colour]} /> {one.label} <b>{written(one, shown)}</b>
            </li>
          ))}
        </ul>
      )}
      <div ref={place} className={css.place} role="img" aria-label={`${title}: ${summary}`} />
      <details className={css.details}>
        <summary>{t.table}</summary>
        <div className={css.scroll} tabIndex={0} role="group" aria-label={title}>
          <table>
            <caption className="unseen">{title}</caption>
            <thead>
              <tr>
                <th scope="col">{t.day}</th>
                {series.map(({ label }) => (
                  <th key={label} scope="col">
                    {label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {days.map((of, i) => (
                <tr key={of}>
                  <th scope="row">{date(of)}</th>
                  {series.map((one) => (
                    <td key={one.label}>{written(one, i)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </figure>
  )
}

interface PlotProps {
  readonly days: readonly string[]
  readonly series: readonly Series[]
  readonly onPoint: (at: number | null) => void
}

/** Draws into an element, as wide as that is, in the colours that there are now. */
function usePlot({ days, series, onPoint }: PlotProps) {
  const place = useRef<HTMLDivElement>(null)
  const language = useLanguage()
  const scheme = useScheme()
  const short = useMemo(
    () =>
      new Intl.DateTimeFormat(language === 'zh' ? 'zh-CN' : 'en-GB', {
        day: 'numeric',
        month: language === 'zh' ? 'numeric' : 'short',
        timeZone: 'UTC',
      }),
    [language],
  )
  // A refresh with the same figures draws nothing anew.
  const drawn = JSON.stringify([days, series, language, scheme])

  useEffect(() => {
    const element = place.current
    if (!element || days.length === 0) return undefined
    let plot: uPlot | undefined
    let gone = false
    const observer = new ResizeObserver(() => {
      plot?.setSize({ width: element.clientWidth, height })
    })
    void load().then((UPlot) => {
      if (gone) return
      const width = element.clientWidth
      const data = [days.map((_, i) => i), ...series.map(({ values }) => [...values])]
      const looks = options({ UPlot, series, width, onPoint, label: (i) => labelOf(i) })
      plot = new UPlot(looks, data as uPlot.AlignedData, element)
      element.dataset.drawn = String(days.length)
      observer.observe(element)
    })
    function labelOf(i: number): string {
      const day = days[i]
      return day === undefined ? '' : short.format(new Date(`${day}T00:00:00Z`))
    }
    return () => {
      gone = true
      observer.disconnect()
      plot?.destroy()
      delete element.dataset.drawn
    }
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [drawn])
  return place
}

/** The library is loaded with the first chart. */
async function load(): Promise<typeof uPlot> {
  const [{ default: UPlot }] = await Promise.all([
    import('uplot'),
    import('uplot/dist/uPlot.min.css'),
  ])
  return UPlot
}

interface Look extends Pick<PlotProps, 'series' | 'onPoint'> {
  readonly UPlot: typeof uPlot
  readonly width: number
  readonly label: (at: number) => string
}

function options({ UPlot, series, width, onPoint, label }: Look): uPlot.Options {
  const style = getComputedStyle(document.documentElement)
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim()
  const font = `12px ${colour('font')}`
  const axis = { stroke: colour('quiet'), font, ticks: { show: false }, gap: 6 }
  const grid = { stroke: colour('line'), width: 1 }
  const compact = new Intl.NumberFormat(document.documentElement.lang, { notation: 'compact' })
  // Whole numbers, in steps that are whole.
  const whole = [1, 2, 5].flatMap((n) => [...Array(9).keys()].map((e) => n * 10 ** e))
  const incrs = [...whole].sort((a, b) => a - b)
  const writer = (scale: string) => {
    const write = series.find((one) => scaleOf(one) === scale)?.write
    return (_: uPlot, splits: number[]) =>
      splits.map((v) => (write && v < 1_000_000 ? write(v) : compact.format(v)))
  }
  const axes: uPlot.Axis[] = [
    {
      ...axis,
      grid: { show: false },
      size: 30,
      space: 64,
      incrs: [1, 2, 5, 7, 14, 30, 60],
      values: (_, splits) => splits.map((i) => label(i)),
    },
    { ...axis, grid, scale: 'y', size: 46, space: 40, incrs, values: writer('y') },
  ]
  if (series.some(({ apart }) => apart))
    axes.push({
      ...axis,
      grid: { show: false },
      scale: 'apart',
      side: 1,
      size: 60,
      space: 40,
      incrs: incrs.map((v) => v * 100),
      values: writer('apart'),
    })
  return {
    width,
    height,
    legend: { show: false },
    padding: [12, 8, 0, 0],
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 8 } },
    scales: {
      x: { time: false, range: (_, min, max) => [min - 0.5, max + 0.5] },
      y: upwards(4),
      apart: upwards(400),
    },
    axes,
    series: [
      {},
      ...series.map((one): uPlot.Series => {
        const stroke = colour(one.colour)
        const shared = { label: one.label, scale: scaleOf(one), stroke }
        return one.kind === 'bars'
          ? {
              ...shared,
              fill: stroke,
              paths: UPlot.paths.bars!({ size: [0.6, 24], radius: 0.2 }),
              points: { show: false },
              width: 0,
            }
          : { ...shared, width: 2, points: { show: false } }
      }),
    ],
    hooks: { setCursor: [(plot) => onPoint(plot.cursor.idx ?? null)] },
  }
}

/** A scale from nought to a little more than the most, and not flat when there is nothing. */
function upwards(least: number): uPlot.Scale {
  return { range: (_, _min, max) => [0, Math.max(least, (max ?? 0) * 1.08)] }
}

function scaleOf({ apart = false }: Series): string {
  return apart ? 'apart' : 'y'
}

const dark = window.matchMedia('(prefers-color-scheme: dark)')

/** Something that changes whenever colours may have. */
function useScheme(): string {
  const theme = useTheme()
  const preferred = useSyncExternalStore(
    (tell) => {
      dark.addEventListener('change', tell)
      return () => dark.removeEventListener('change', tell)
    },
    () => dark.matches,
  )
  return `${theme} ${preferred}`
}
