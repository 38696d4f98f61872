import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react'
import type uPlot from 'uplot'

import { useTheme } from '@/app/theme'
import { useFormat } from '@/i18n/format'
import { useLanguage } from '@/i18n/language'
import { texts } from '@/i18n/texts'

import css from './Chart.module.css'

const useTexts = texts(
  { table: 'Show as table', day: 'Date' },
  { table: '以表格显示', day: '日期' },
)

/** Colours of series, as named in app/global.css. */
export type Colour = 'accent' | 'good' | 'star' | 'quiet'

/** One series of values by day. */
export interface Series {
  readonly label: string
  readonly colour: Colour
  readonly kind: 'line' | 'bars'
  readonly values: readonly number[]
  /** Formats a value; as a number by default. */
  readonly format?: (value: number) => string
  /** Uses its own axis, on the right. */
  readonly secondAxis?: boolean
}

interface ChartProps {
  readonly title: string
  /** Main figure as text, for screen readers. */
  readonly summary: string
  /** Days (yyyy-mm-dd), ascending. */
  readonly days: readonly string[]
  readonly series: readonly Series[]
}

const height = 220 // pixels

/** A chart of values by day, with a table for exact values and screen readers. */
export function Chart({ title, summary, days, series }: ChartProps) {
  const t = useTexts()
  const { date, number } = useFormat()
  const [hovered, setHovered] = useState<number | null>(null)
  const container = usePlot({ days, series, onHover: setHovered })
  const shown = hovered !== null && hovered < days.length ? hovered : days.length - 1
  const valueText = (one: Series, at: number) => (one.format ?? number)(one.values[at] ?? 0)
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
              <i className={css[one.colour]} /> {one.label} <b>{valueText(one, shown)}</b>
            </li>
          ))}
        </ul>
      )}
      <div ref={container} className={css.place} role="img" aria-label={`${title}: ${summary}`} />
      <details className={css.details}>
        <summary>{t.table}</summary>
        <div className={css.scroll} tabIndex={0} role="group" aria-label={title}>
          <table>
            <caption className="visually-hidden">{title}</caption>
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
                    <td key={one.label}>{valueText(one, i)}</td>
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
  readonly onHover: (at: number | null) => void
}

/** Draws the plot into an element, in its width and the current theme. */
function usePlot({ days, series, onHover }: PlotProps) {
  const container = useRef<HTMLDivElement>(null)
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
  // Avoids a redraw when a refetch returns the same values.
  const drawKey = JSON.stringify([days, series, language, scheme])

  useEffect(() => {
    const element = container.current
    if (!element || days.length === 0) return undefined
    let plot: uPlot | undefined
    let unmounted = false
    const observer = new ResizeObserver(() => {
      plot?.setSize({ width: element.clientWidth, height })
    })
    void load().then((UPlot) => {
      if (unmounted) return
      const width = element.clientWidth
      const data = [days.map((_, i) => i), ...series.map(({ values }) => [...values])]
      const plotOptions = options({ UPlot, series, width, onHover, label: (i) => labelOf(i) })
      plot = new UPlot(plotOptions, data as uPlot.AlignedData, element)
      element.dataset.drawn = String(days.length)
      observer.observe(element)
    })
    function labelOf(i: number): string {
      const day = days[i]
      return day === undefined ? '' : short.format(new Date(`${day}T00:00:00Z`))
    }
    return () => {
      unmounted = true
      observer.disconnect()
      plot?.destroy()
      delete element.dataset.drawn
    }
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [drawKey])
  return container
}

/** Loads the library with the first chart. */
async function load(): Promise<typeof uPlot> {
  const [{ default: UPlot }] = await Promise.all([
    import('uplot'),
    import('uplot/dist/uPlot.min.css'),
  ])
  return UPlot
}

interface OptionsInput extends Pick<PlotProps, 'series' | 'onHover'> {
  readonly UPlot: typeof uPlot
  readonly width: number
  readonly label: (at: number) => string
}

function options({ UPlot, series, width, onHover, label }: OptionsInput): uPlot.Options {
  const style = getComputedStyle(document.documentElement)
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim()
  const font = `12px ${colour('font')}`
  const axis = { stroke: colour('quiet'), font, ticks: { show: false }, gap: 6 }
  const grid = { stroke: colour('line'), width: 1 }
  const compact = new Intl.NumberFormat(document.documentElement.lang, { notation: 'compact' })
  // Integer ticks at integer steps.
  const whole = [1, 2, 5].flatMap((n) => [...Array(9).keys()].map((e) => n * 10 ** e))
  const incrs = [...whole].sort((a, b) => a - b)
  const writer = (scale: string) => {
    const format = series.find((one) => scaleOf(one) === scale)?.format
    return (_: uPlot, splits: number[]) =>
      splits.map((v) => (format && v < 1_000_000 ? format(v) : compact.format(v)))
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
  if (series.some(({ secondAxis }) => secondAxis))
    axes.push({
      ...axis,
      grid: { show: false },
      scale: 'secondAxis',
      side: 1,
      size: 60,
      space: 40,
      incrs: incrs.map((v) => v * 100),
      values: writer('secondAxis'),
    })
  return {
    width,
    height,
    legend: { show: false },
    padding: [12, 8, 0, 0],
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 8 } },
    scales: {
      x: { time: false, range: (_, min, max) => [min - 0.5, max + 0.5] },
      y: fromZero(4),
      secondAxis: fromZero(400),
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
    hooks: { setCursor: [(plot) => onHover(plot.cursor.idx ?? null)] },
  }
}

/** A scale from 0 to slightly above the maximum, and never flat. */
function fromZero(minTop: number): uPlot.Scale {
  return { range: (_, _min, max) => [0, Math.max(minTop, (max ?? 0) * 1.08)] }
}

function scaleOf({ secondAxis = false }: Series): string {
  return secondAxis ? 'secondAxis' : 'y'
}

const dark = window.matchMedia('(prefers-color-scheme: dark)')

/** Changes whenever the colours may have changed. */
function useScheme(): string {
  const theme = useTheme()
  const preferred = useSyncExternalStore(
    (listener) => {
      dark.addEventListener('change', listener)
      return () => dark.removeEventListener('change', listener)
    },
    () => dark.matches,
  )
  return `${theme} ${preferred}`
}
