// Parses numbers with the digits of any script and the separators of any keypad.

/** A parsed number: digits before and after the decimal separator, without leading zeros. */
export interface Typed {
  readonly negative: boolean
  readonly whole: string
  readonly fraction: string
}

export interface NumberRules {
  /** Maximum decimals; trailing zeros do not count. */
  readonly decimals: number
  /** Allow a sign. Default: false. */
  readonly signed?: boolean
  /** Allow grouped digits, as in 1,200. Default: true. */
  readonly groups?: boolean
}

// Variants of the full stop, the comma, the apostrophe and the minus sign.
const stops = /[.．。｡﹒]/gu
const commas = /[,，﹐،]/gu
const apostrophes = /['’‘ʼ＇`´]/gu
const minuses = /[-−－﹣‐‑‒–]/gu

/**
 * Parses a number. It returns null if the text is not a number, and 'ambiguous' if it has two
 * readings: 1.200 is 1200 in Germany and 1.2 in China.
 *
 * A single separator followed by one or two digits is a decimal separator. A comma before three
 * digits groups, as in 1,200. If the text has commas and full stops, the last one is the decimal
 * separator. Spaces, apostrophes and ٬ only group. ٫ is always a decimal separator.
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
  // Three decimals are never an amount, not even 12.340.
  if (rules.groups !== false && digits.length - at > 3) return null
  return { negative: sign === '-', whole: whole.replace(/^0+(?=\d)/, ''), fraction }
}

/** Returns the decimal separator, or '' if there is none. */
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

/** Removes group separators; null if the grouping is invalid. */
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

/** Returns the digits of a code as 0 to 9; null if the text contains letters. */
export function parseDigits(text: string): string | null {
  const digits = asciiDigits(text).replace(/[^\p{L}\p{N}]/gu, '')
  return /^\d+$/.test(digits) ? digits : null
}

/** Converts decimal digits of any script to 0 to 9. Other numerals, such as ² or 一, stay. */
function asciiDigits(text: string): string {
  return text.replace(/\p{Nd}/gu, (digit) => {
    const code = digit.codePointAt(0)!
    // Unicode digits are contiguous and start at zero.
    let zero = code
    while (isDigit(zero - 1)) zero--
    return String((code - zero) % 10)
  })
}

function isDigit(code: number): boolean {
  return code >= 0 && /^\p{Nd}$/u.test(String.fromCodePoint(code))
}

/** Removes zero-width characters, direction marks and variation selectors. */
function withoutInvisible(text: string): string {
  return text.replace(/[\p{Cf}\p{Mn}\u{FE00}-\u{FE0F}]/gu, '')
}
