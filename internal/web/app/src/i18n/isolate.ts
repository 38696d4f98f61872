// Letters of scripts that are written from right to left.
const rightToLeft =
  /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u

/**
 * People's words within a sentence of ours, so that neither reorders the other. For texts that are
 * no elements: titles, labels, toasts. In elements, `<bdi>` or `dir="auto"` does the same.
 */
export function isolate(words: string): string {
  return rightToLeft.test(words) && !isIsolated(words) ? `\u2068${words}\u2069` : words
}

/** Whether a text has words that are set apart by [isolate]. */
export function isIsolated(text: string): boolean {
  return text.includes('\u2068')
}
