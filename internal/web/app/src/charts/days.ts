/** A range of days (yyyy-mm-dd), as the API takes them. */
export interface Days {
  readonly from: string
  readonly to: string
}

const day = 86_400_000 // ms

/** The last so many days up to today, as days count here. */
export function lastDays(count: number): Days {
  const now = new Date()
  const today = Date.UTC(now.getFullYear(), now.getMonth(), now.getDate())
  return { from: written(today - (count - 1) * day), to: written(today) }
}

function written(at: number): string {
  return new Date(at).toISOString().slice(0, 10)
}
