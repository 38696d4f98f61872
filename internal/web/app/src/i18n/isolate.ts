// Letters of right-to-left scripts.
const rightToLeft =
  /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u

/**
 * Isolates the direction of user text inside a translated string, such as a title, label or toast.
 * In elements, use `<bdi>` or `dir="auto"`.
 */
export function isolate(words: string): string {
  return rightToLeft.test(words) && !isIsolated(words) ? `\u2068${words}\u2069` : words
}

/** Reports whether a text contains parts isolated by [isolate]. */
export function isIsolated(text: string): boolean {
  return text.includes('\u2068')
}
