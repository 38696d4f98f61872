import { texts } from '@/i18n/texts'
import { ShopRow } from '@/shops/ShopRow'

import type { VoucherFactsFragment } from './voucher.gql'
import css from './VoucherBody.module.css'

const useTexts = texts(
  { rules: 'Terms of use', shop: 'Where to use it' },
  { rules: '使用规则', shop: '适用店铺' },
)

/** Terms of use and the shop of a voucher. */
export function VoucherBody({ voucher }: { voucher: VoucherFactsFragment }) {
  const t = useTexts()
  return (
    <>
      {voucher.rules !== null && (
        <section className={css.section} aria-labelledby="rules">
          <h2 id="rules">{t.rules}</h2>
          <p className={css.rules} dir="auto">
            {voucher.rules}
          </p>
        </section>
      )}
      <section className={css.section} aria-labelledby="where">
        <h2 id="where">{t.shop}</h2>
        <ShopRow shop={voucher.shop} />
      </section>
    </>
  )
}
