import { useFormat } from '@/i18n/format'
import { texts } from '@/i18n/texts'

import { Chart } from './Chart'

const useTexts = texts(
  {
    title: 'Sales, last 30 days',
    summary: (amount: string, paid: string, orders: string) =>
      `Revenue: ${amount}, orders: ${orders}, paid: ${paid}`,
    amount: 'Revenue',
    orders: 'Orders',
    paid: 'Paid',
  },
  {
    title: '近 30 天销售',
    summary: (amount, paid, orders) => `成交额 ${amount}，下单 ${orders} 笔，支付 ${paid} 笔`,
    amount: '成交额',
    orders: '下单',
    paid: '支付',
  },
)

export interface SalesOfDay {
  readonly date: string
  readonly orders: number
  readonly paid: number
  /** Amount paid, in fen. */
  readonly amount: number
}

/** Sums the sales of several days. */
export function salesOf(days: readonly SalesOfDay[]): Omit<SalesOfDay, 'date'> {
  const total = { orders: 0, paid: 0, amount: 0 }
  for (const day of days) {
    total.orders += day.orders
    total.paid += day.paid
    total.amount += day.amount
  }
  return total
}

/** Revenue, orders and payments by day. */
export function SalesChart({ days }: { days: readonly SalesOfDay[] }) {
  const t = useTexts()
  const { money, number } = useFormat()
  const { amount, paid, orders } = salesOf(days)
  return (
    <Chart
      title={t.title}
      summary={t.summary(money(amount), number(paid), number(orders))}
      days={days.map(({ date }) => date)}
      series={[
        {
          label: t.amount,
          colour: 'star',
          kind: 'bars',
          secondAxis: true,
          values: days.map((day) => day.amount),
          format: money,
        },
        { label: t.orders, colour: 'quiet', kind: 'line', values: days.map((day) => day.orders) },
        { label: t.paid, colour: 'good', kind: 'line', values: days.map((day) => day.paid) },
      ]}
    />
  )
}
