import { texts } from '@/i18n/texts'
import { ShopLine } from '@/shops/ShopLine'

import type { VoucherFactsFragment } from './voucher.gql'
import css from './VoucherBody.module.css'

const useTexts = texts({ rules: 'Rules', shop: 'Where' }, { rules: '使用规则', shop: '适用门店' })

/** What holds for a voucher's use, and where that is. */
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
        <ShopLine shop={voucher.shop} />
      </section>
    </>
  )
}
