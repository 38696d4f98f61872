/** Minimum points of each level, from level 0. */
const levels = [0, 100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000]

/** Returns the progress to the next level; null at the highest. */
export function progressToNextLevel(
  level: number,
  points: number,
): { done: number; all: number } | null {
  const from = levels[level]
  const to = levels[level + 1]
  if (from === undefined || to === undefined) return null
  return { done: Math.min(to, Math.max(from, points)) - from, all: to - from }
}
