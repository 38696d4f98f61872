import { Link } from 'wouter'

import { useFormat } from '@/i18n/format'
import { texts } from '@/i18n/texts'
import { SaveButton } from '@/saves/SaveButton'
import { Picture } from '@/ui/Picture'
import { Score } from '@/ui/Score'

import type { ShopCardFragment } from './shop-card.gql'
import css from './ShopCard.module.css'
import { useTypeName } from './typeNames'

const useTexts = texts(
  {
    perPerson: (price: string) => `${price} per person`,
    unrated: 'New',
    open: 'Open',
    closed: 'Closed',
  },
  {
    perPerson: (price) => `人均 ${price}`,
    unrated: '暂无评分',
    open: '营业中',
    closed: '休息中',
  },
)

/** A shop in a list. The whole card is a link. */
export function ShopCard({
  shop,
  distance,
  eager = false,
}: {
  shop: ShopCardFragment
  /** Metres from the viewer's place; null if unknown. */
  distance?: number | null
  eager?: boolean
}) {
  const t = useTexts()
  const { money, distance: formatDistance } = useFormat()
  const typeName = useTypeName()
  return (
    <article className={css.card}>
      <div className={css.picture}>
        <Picture src={shop.images[0]?.thumbnailUrl} alt="" ratio={1} eager={eager} />
      </div>
      <div className={css.text}>
        <h3 dir="auto">
          <Link href={`/shops/${shop.id}`} className={css.link}>
            {shop.name}
          </Link>
        </h3>
        <p className={css.facts}>
          <Score shop={shop} none={t.unrated} />
          {shop.avgPrice !== null && <span>{t.perPerson(money(shop.avgPrice))}</span>}
        </p>
        <p className={css.facts}>
          <span dir="auto">{typeName(shop.type.name)}</span>
          {shop.area !== null && <span dir="auto">{shop.area}</span>}
          {shop.isOpen !== null && (
            <span className={shop.isOpen ? css.open : undefined}>
              {shop.isOpen ? t.open : t.closed}
            </span>
          )}
          {typeof distance === 'number' && (
            <span className={css.far}>{formatDistance(distance)}</span>
          )}
        </p>
      </div>
      <SaveButton type="Shop" of={{ id: shop.id, isSaved: shop.isSaved }} name={shop.name} />
    </article>
  )
}
