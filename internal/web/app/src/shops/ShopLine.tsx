import { ChevronRight } from 'lucide-react'
import { Link } from 'wouter'

import { Picture } from '@/ui/Picture'

import css from './ShopLine.module.css'

interface ShopLineProps {
  readonly shop: {
    readonly id: string
    readonly name: string
    readonly address: string
    readonly images: readonly { readonly thumbnailUrl: string }[]
  }
}

/** A shop beside something else: all of it leads to the shop. */
export function ShopLine({ shop }: ShopLineProps) {
  return (
    <div className={css.line}>
      <div className={css.picture}>
        <Picture src={shop.images[0]?.thumbnailUrl} alt="" ratio={1} eager />
      </div>
      <div>
        <h3 dir="auto">
          <Link href={`/shops/${shop.id}`} className={css.link}>
            {shop.name}
          </Link>
        </h3>
        <p className={css.address} dir="auto">
          {shop.address}
        </p>
      </div>
      <ChevronRight aria-hidden="true" size={20} />
    </div>
  )
}
