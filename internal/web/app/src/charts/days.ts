/** A range of days (yyyy-mm-dd), inclusive. */
export interface Days {
  readonly from: string
  readonly to: string
}

const day = 86_400_000 // ms

/** Returns the last `count` days up to `today` (yyyy-mm-dd). */
export function lastDays(count: number, today: string): Days {
  const at = Date.parse(`${today}T00:00:00Z`) - (count - 1) * day
  return { from: new Date(at).toISOString().slice(0, 10), to: today }
}
