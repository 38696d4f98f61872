import { Plus, ScanLine } from 'lucide-react'
import { Link } from 'wouter'

import { useFormat } from '@/i18n/format'
import { texts } from '@/i18n/texts'
import { useTypeName } from '@/shops/typeNames'
import { ButtonLink } from '@/ui/Button'
import { Pages } from '@/ui/Pages'
import { Picture } from '@/ui/Picture'
import { Score } from '@/ui/Score'
import { Screen } from '@/ui/Screen'
import { Skeleton } from '@/ui/Skeleton'
import { EmptyState } from '@/ui/State'

import { RequireRole } from './RequireRole'
import { MyShopsDocument, type MerchantShopFragment } from './merchant.gql'
import css from './Merchant.module.css'

const useTexts = texts(
  {
    title: 'My shops',
    redeem: 'Redeem',
    shop: 'New shop',
    none: 'You don’t have a shop yet.',
    sold: (n: string) => `${n} sold`,
  },
  {
    title: '我的店铺',
    redeem: '核销',
    shop: '新建店铺',
    none: '你还没有店铺。',
    sold: (n) => `已售 ${n} 张`,
  },
)

/** The viewer's shops. */
export function Merchant() {
  const t = useTexts()
  return (
    <Screen title={t.title} backTo="/me">
      <RequireRole role="MERCHANT">
        <div className={css.actions}>
          <ButtonLink href="/merchant/redeem">
            <ScanLine aria-hidden="true" size={20} /> {t.redeem}
          </ButtonLink>
          <ButtonLink kind="quiet" href="/merchant/shops/new">
            <Plus aria-hidden="true" size={20} /> {t.shop}
          </ButtonLink>
        </div>
        <Pages
          name="my-shops"
          document={MyShopsDocument}
          variables={{}}
          connection={({ me }) => me?.shops}
          className={css.shops}
          loading={<Skeleton shape="row" count={5} />}
          empty={<EmptyState title={t.none} />}
        >
          {({ node }, i) => <MerchantShopRow shop={node} eager={i < 6} />}
        </Pages>
      </RequireRole>
    </Screen>
  )
}

function MerchantShopRow({ shop, eager }: { shop: MerchantShopFragment; eager: boolean }) {
  const t = useTexts()
  const { number } = useFormat()
  const typeName = useTypeName()
  return (
    <article className={css.shop}>
      <div className={css.picture}>
        <Picture src={shop.images[0]?.thumbnailUrl} alt="" ratio={1} eager={eager} />
      </div>
      <div className={css.text}>
        <h2 dir="auto">
          <Link href={`/merchant/shops/${shop.id}`} className={css.link}>
            {shop.name}
          </Link>
        </h2>
        <p className={css.facts}>
          <Score shop={shop} />
          <span>{t.sold(number(shop.sold))}</span>
        </p>
        <p className={css.facts}>
          <span dir="auto">{typeName(shop.type.name)}</span>
          <span dir="auto">{shop.area ?? shop.address}</span>
        </p>
      </div>
    </article>
  )
}
