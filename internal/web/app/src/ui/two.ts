/** A number with at least two digits, as clocks and dates have them. */
export function two(n: number): string {
  return String(n).padStart(2, '0')
}
