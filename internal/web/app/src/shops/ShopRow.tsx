import { ChevronRight } from 'lucide-react'
import { Link } from 'wouter'

import { Picture } from '@/ui/Picture'

import css from './ShopRow.module.css'

interface ShopRowProps {
  readonly shop: {
    readonly id: string
    readonly name: string
    readonly address: string
    readonly images: readonly { readonly thumbnailUrl: string }[]
  }
}

/** A compact link to a shop. */
export function ShopRow({ shop }: ShopRowProps) {
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
