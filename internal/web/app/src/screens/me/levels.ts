/** The points at which levels begin, from 0 on. */
const levels = [0, 100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000]

/** How far somebody is from a level to the next; null on the highest. */
export function toNext(level: number, points: number): { done: number; all: number } | null {
  const from = levels[level]
  const to = levels[level + 1]
  if (from === undefined || to === undefined) return null
  return { done: Math.min(to, Math.max(from, points)) - from, all: to - from }
}
