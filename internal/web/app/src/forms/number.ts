// Numbers as people type them: in the digits of any script, with the signs of any keypad.

/** A number as it is typed: its digits before and after the decimal sign, without leading zeros. */
export interface Typed {
  readonly negative: boolean
  readonly whole: string
  readonly fraction: string
}

export interface NumberRules {
  /** Most digits after the decimal sign; zeros at their end do not count. */
  readonly decimals: number
  /** Whether it may have a sign. */
  readonly signed?: boolean
  /** Whether digits may stand in groups, as in 1,200. Coordinates have none. */
  readonly groups?: boolean
}

// Keypads have them for the full stop, for the comma, for an apostrophe and for a minus.
const stops = /[.．。｡﹒]/gu
const commas = /[,，﹐،]/gu
const apostrophes = /['’‘ʼ＇`´]/gu
const minuses = /[-−－﹣‐‑‒–]/gu

/**
 * Reads a number. It returns null if the text is no number, and 'ambiguous' if it can be read as two
 * numbers: 1.200 is 1200 in Germany and 1.2 in China.
 *
 * A sign that occurs once decides by what follows it: one or two digits are decimals, and a comma
 * before three digits groups them, as in 1,200. Of a comma and a full stop the last is the decimal
 * sign. Blanks, apostrophes and ٬ only group; ٫ is only a decimal sign.
 */
export function readNumber(text: string, rules: NumberRules): Typed | 'ambiguous' | null {
  const plain = asciiDigits(withoutInvisible(text))
    .replace(stops, '.')
    .replace(commas, ',')
    .replace(apostrophes, "'")
    .replace(minuses, '-')
    .replace('＋', '+')
    .replace(/\s+/gu, ' ')
    .trim()
  const [, sign = '', digits = ''] = /^([+-]?) ?([\d.,' ٫٬]*\d[.,٫]?)$/u.exec(plain) ?? []
  if (digits === '' || (sign !== '' && rules.signed !== true)) return null
  const point = decimalSign(digits, rules)
  if (point === 'ambiguous') return point
  const at = point === '' ? digits.length : digits.lastIndexOf(point)
  const whole = ungrouped(digits.slice(0, at), rules.groups !== false)
  const fraction = digits.slice(at + 1).replace(/0+$/, '')
  if (whole === null || !/^\d*$/.test(fraction) || fraction.length > rules.decimals) return null
  // Three digits behind a decimal sign are no cents, also not 12.340.
  if (rules.groups !== false && digits.length - at > 3) return null
  return { negative: sign === '-', whole: whole.replace(/^0+(?=\d)/, ''), fraction }
}

/** Which sign is the decimal one; none is ''. */
function decimalSign(digits: string, { groups = true }: NumberRules): string | 'ambiguous' {
  if (digits.includes('٫')) return '٫'
  const [stop, comma] = [digits.lastIndexOf('.'), digits.lastIndexOf(',')]
  if (stop >= 0 && comma >= 0) return stop > comma ? '.' : ','
  const sign = stop >= 0 ? '.' : ','
  const at = Math.max(stop, comma)
  if (at < 0) return ''
  if (!groups) return sign
  const several = digits.indexOf(sign) !== at
  if (several) return ''
  const behind = digits.length - at - 1
  const grouped = /['٬ ]/u.test(digits)
  if (behind !== 3 || grouped || !/^[1-9]\d{0,2}$/.test(digits.slice(0, at))) return sign
  return sign === ',' ? '' : 'ambiguous'
}

/** Digits without what groups them; null if they are grouped by nothing that groups. */
function ungrouped(digits: string, groups: boolean): string | null {
  if (/^\d*$/.test(digits)) return digits === '' ? '0' : digits
  const [sign] = /\D/u.exec(digits) ?? []
  if (!groups || sign === undefined || sign === '٫') return null
  const parts = digits.split(sign)
  // Groups of three, or of two before the last three, as in 12,34,567.
  const [first = '', ...rest] = parts
  const last = rest.pop()
  const even = (size: number) => rest.every((part) => new RegExp(`^\\d{${size}}$`).test(part))
  const good =
    /^\d{3}$/.test(last ?? '') &&
    ((/^[1-9]\d{0,2}$/.test(first) && even(3)) || (/^[1-9]\d?$/.test(first) && even(2)))
  return good ? parts.join('') : null
}

/** The digits of a code or an order number, in 0 to 9: null if the text has letters too. */
export function digitsOf(text: string): string | null {
  const digits = asciiDigits(text).replace(/[^\p{L}\p{N}]/gu, '')
  return /^\d+$/.test(digits) ? digits : null
}

/** Every decimal digit of any script as 0 to 9. Other numerals, such as ² or 一, stay. */
function asciiDigits(text: string): string {
  return text.replace(/\p{Nd}/gu, (digit) => {
    const code = digit.codePointAt(0)!
    // Digits stand in runs that begin with a zero.
    let zero = code
    while (isDigit(zero - 1)) zero--
    return String((code - zero) % 10)
  })
}

function isDigit(code: number): boolean {
  return code >= 0 && /^\p{Nd}$/u.test(String.fromCodePoint(code))
}

/** Without zero-width characters, marks of direction and variation selectors. */
function withoutInvisible(text: string): string {
  return text.replace(/[\p{Cf}\p{Mn}\u{FE00}-\u{FE0F}]/gu, '')
}
