// Characters as readers see them: a family emoji, a flag or a letter with its marks is one.

interface Segmenter {
  segment(text: string): Iterable<{ readonly segment: string }>
}

// Firefox has it since 125.
const { Segmenter } = Intl as { Segmenter?: new () => Segmenter }

// What goes on with the character before it: marks, modifiers of emoji, and what a joiner joins.
const joined = /^(?:\p{M}|\p{Emoji_Modifier}|\u200c|\u200d|[\u{e0020}-\u{e007f}])$/u
const flag = /^\p{Regional_Indicator}$/u

/** The characters of a text, as readers see them. */
export function graphemes(text: string): string[] {
  if (Segmenter !== undefined) {
    return Array.from(new Segmenter().segment(text), ({ segment }) => segment)
  }
  return simpleGraphemes(text)
}

/** The same for browsers without Intl.Segmenter: right for emoji, flags and marks, not for Hangul in parts. */
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

/** What stands for a name where there is no picture: its first visible character. */
export function initialOf(name: string): string {
  return graphemes(name).find((one) => /[^\p{C}\p{Z}]/u.test(one)) ?? ''
}

/**
 * How long a text is by the API's count: code points, after what the API does to each text. It drops
 * invisible marks, makes each run of blanks one space, trims, and composes letters with their marks.
 */
export function lengthOf(text: string): number {
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

/** The beginning of a text, of at most so many characters by the API's count: no character is cut apart. */
export function cut(text: string, most: number): string {
  if (lengthOf(text) <= most) return text
  let kept = ''
  for (const one of graphemes(text)) {
    if (lengthOf(kept + one) > most) break
    kept += one
  }
  return kept
}
