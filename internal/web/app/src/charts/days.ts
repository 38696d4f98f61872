/** A range of days (yyyy-mm-dd), as the API takes them. */
export interface Days {
  readonly from: string
  readonly to: string
}

const day = 86_400_000 // ms

/** The last so many days up to a day (yyyy-mm-dd). */
export function lastDays(count: number, today: string): Days {
  const at = Date.parse(`${today}T00:00:00Z`) - (count - 1) * day
  return { from: new Date(at).toISOString().slice(0, 10), to: today }
}
