// Grapheme clusters: a family emoji, a flag or a letter with marks counts as one character.

interface Segmenter {
  segment(text: string): Iterable<{ readonly segment: string }>
}

// Firefox supports it since 125.
const { Segmenter } = Intl as { Segmenter?: new () => Segmenter }

// Code points that join the previous character: marks, emoji modifiers and joiners.
const joined = /^(?:\p{M}|\p{Emoji_Modifier}|\u200c|\u200d|[\u{e0020}-\u{e007f}])$/u
const flag = /^\p{Regional_Indicator}$/u

/** Splits a text into grapheme clusters. */
export function graphemes(text: string): string[] {
  if (Segmenter !== undefined) {
    return Array.from(new Segmenter().segment(text), ({ segment }) => segment)
  }
  return simpleGraphemes(text)
}

/**
 * Fallback without Intl.Segmenter. It handles emoji, flags and marks, but not decomposed Hangul.
 */
export function simpleGraphemes(text: string): string[] {
  const found: string[] = []
  for (const point of text) {
    const last = found.at(-1)
    const isSecondHalf = flag.test(point) && last !== undefined && flag.test(last)
    if (last !== undefined && (joined.test(point) || last.endsWith('\u200d') || isSecondHalf))
      found[found.length - 1] = last + point
    else found.push(point)
  }
  return found
}

/** Returns the first visible character of a name. */
export function initialOf(name: string): string {
  return graphemes(name).find((one) => /[^\p{C}\p{Z}]/u.test(one)) ?? ''
}

/**
 * Returns the length of a text as the API counts it: code points after normalisation. The API
 * removes invisible marks, collapses and trims spaces, and composes letters with their marks.
 */
export function textLength(text: string): number {
  const lines = text.split(/\r\n|[\n\r\u2028\u2029]/u).map((line) =>
    line
      .replace(/[^\S\ufeff]|\u0085/gu, ' ')
      // oxlint-disable-next-line no-control-regex
      .replace(/[\p{Cc}\u200b\ufeff\u202a-\u202e\u2066-\u2069]/gu, '')
      .replace(/ +/g, ' ')
      .trim(),
  )
  const whole = lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
  return [...whole.normalize('NFC')].length
}

/**
 * Returns the start of a text, at max `max` characters by the API's count. It never splits a
 * grapheme cluster.
 */
export function cut(text: string, max: number): string {
  if (textLength(text) <= max) return text
  let result = ''
  for (const one of graphemes(text)) {
    if (textLength(result + one) > max) break
    result += one
  }
  return result
}
