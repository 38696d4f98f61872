import { texts } from '@/i18n/texts'

import { Chart } from './Chart'

const useTexts = texts(
  { visitors: 'Visitors', views: 'Views' },
  { visitors: '访客', views: '浏览量' },
)

export interface VisitsOfDay {
  readonly date: string | null
  readonly uniqueVisitors: number
  readonly views: number
}

interface VisitsChartProps {
  readonly title: string
  readonly summary: string
  readonly days: readonly VisitsOfDay[]
}

/** Views and visitors by day. */
export function VisitsChart({ title, summary, days }: VisitsChartProps) {
  const t = useTexts()
  return (
    <Chart
      title={title}
      summary={summary}
      days={days.map(({ date }) => date ?? '')}
      series={[
        { label: t.views, colour: 'star', kind: 'bars', values: days.map((day) => day.views) },
        {
          label: t.visitors,
          colour: 'good',
          kind: 'line',
          values: days.map((day) => day.uniqueVisitors),
        },
      ]}
    />
  )
}
