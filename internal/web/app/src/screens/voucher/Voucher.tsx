import { Ticket } from 'lucide-react'
import { Redirect } from 'wouter'

import { codeOf } from '@/api/errors'
import { useAsk } from '@/api/useAsk'
import { texts } from '@/i18n/texts'
import { BuyBar } from '@/orders/BuyBar'
import { Lost } from '@/screens/lost/Lost'
import { Screen } from '@/ui/Screen'
import { Skeleton } from '@/ui/Skeleton'
import { Failed } from '@/ui/State'
import { VoucherBody } from '@/vouchers/VoucherBody'
import { VoucherHead } from '@/vouchers/VoucherHead'

import { VoucherDocument } from './voucher.gql'
import css from './Voucher.module.css'

const useTexts = texts(
  {
    title: 'Voucher',
    one: 'One for each person.',
    several: 'You can buy as many as you like, one at a time.',
    off: 'Off sale',
  },
  { title: '代金券', one: '每人限购一份。', several: '不限购，每次购买一份。', off: '已下架' },
)

/** An ordinary voucher: what it is worth, what holds for it, and the button that buys it. */
export function Voucher({ id }: { id: string }) {
  const t = useTexts()
  const [{ data, error }, ask] = useAsk({ query: VoucherDocument, variables: { id } })
  const again = () => ask({ requestPolicy: 'network-only' })
  const voucher = data?.voucher
  if (!voucher) {
    if (voucher === null || (error && codeOf(error) === 'BAD_USER_INPUT')) return <Lost />
    return (
      <Screen title={t.title} up="/">
        {error ? <Failed error={error} again={again} /> : <Skeleton shape="card" />}
      </Screen>
    )
  }
  if (voucher.kind === 'FlashVoucher') return <Redirect to={`/sales/${id}`} replace />

  const off = voucher.status !== 'ON_SALE'
  return (
    <Screen title={voucher.title} up={`/shops/${voucher.shop.id}`}>
      <div className={css.layout} data-voucher={id}>
        <div className={css.main}>
          <VoucherHead
            voucher={voucher}
            tag={
              <>
                <Ticket aria-hidden="true" size={18} />
                {t.title}
              </>
            }
          >
            <p className={css.limit}>{voucher.onePerUser ? t.one : t.several}</p>
          </VoucherHead>
          <VoucherBody voucher={voucher} />
        </div>
        <BuyBar voucher={voucher} closed={off ? t.off : null} onRefused={again} />
      </div>
    </Screen>
  )
}
