/** Pads a number to two digits. */
export function padTwo(n: number): string {
  return String(n).padStart(2, '0')
}
