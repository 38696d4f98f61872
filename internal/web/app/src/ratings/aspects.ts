import { texts } from '@/i18n/texts'

import type { ShopRatingsFragment } from './rating.gql'

/** A shop with its ratings. */
export interface RatedShop extends ShopRatingsFragment {
  readonly name: string
  readonly type: { readonly name: string }
}

/** Aspects of a shop that users can rate. */
export type Aspect = 'taste' | 'environment' | 'service'

export const useAspectTexts = texts<Record<Aspect, string>>(
  { taste: 'Taste', environment: 'Environment', service: 'Service' },
  { taste: '口味', environment: '环境', service: '服务' },
)

// Types of shops that sell nothing to eat.
const withoutTaste = new Set([
  'Hair & beauty',
  'Massage & spa',
  'Fitness & sports',
  'Cinema & theatre',
  'Kids & families',
  'Books & culture',
])

/** Returns the aspects that suit a type of shops. */
export function aspectsOf(typeName: string): readonly Aspect[] {
  return withoutTaste.has(typeName)
    ? ['environment', 'service']
    : ['taste', 'environment', 'service']
}
