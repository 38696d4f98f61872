import type { ShopFilter } from '@/api/types.gql'

/** A condition that a chip sets: a parameter of the search screen's URL, and its value. */
export interface FilterChip {
  readonly name: 'openNow' | 'score4' | 'score45' | 'vouchers' | 'sales'
  readonly param: string
  readonly value: string
}

/** Conditions without the price. */
export const filterChips: readonly FilterChip[] = [
  { name: 'openNow', param: 'open', value: '1' },
  { name: 'score4', param: 'score', value: '4' },
  { name: 'score45', param: 'score', value: '4.5' },
  { name: 'vouchers', param: 'voucher', value: '1' },
  { name: 'sales', param: 'sale', value: '1' },
]

/** Price ranges in yuan: from, and below. */
export const priceRanges: readonly { readonly from: number; readonly below: number | null }[] = [
  { from: 0, below: 50 },
  { from: 50, below: 100 },
  { from: 100, below: 200 },
  { from: 200, below: null },
]

/** Returns the value of a price range in the URL, such as 50-100. */
export function priceValue({ from, below }: { from: number; below: number | null }): string {
  return `${from}-${below ?? ''}`
}

/** Returns the conditions of a URL. It ignores unknown values. */
export function filterOf(params: URLSearchParams): ShopFilter {
  const has = (param: string) =>
    filterChips.some((chip) => chip.param === param && chip.value === params.get(param))
  const price = priceRanges.find((range) => priceValue(range) === params.get('price'))
  return {
    ...(has('open') ? { openNow: true } : {}),
    ...(has('score') ? { minScore: Number(params.get('score')) } : {}),
    ...(has('voucher') ? { hasVoucher: true } : {}),
    ...(has('sale') ? { hasFlashSale: true } : {}),
    ...(price && price.from > 0 ? { minPrice: price.from * 100 } : {}),
    ...(price && price.below !== null ? { maxPrice: price.below * 100 - 1 } : {}),
  }
}
