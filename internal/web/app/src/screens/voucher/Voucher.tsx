import { Ticket } from 'lucide-react'
import { Redirect } from 'wouter'

import { errorCode } from '@/api/errors'
import { useApiQuery } from '@/api/useApiQuery'
import { texts } from '@/i18n/texts'
import { BuyBar } from '@/orders/BuyBar'
import { NotFound } from '@/screens/notfound/NotFound'
import { Screen } from '@/ui/Screen'
import { Skeleton } from '@/ui/Skeleton'
import { ErrorState } from '@/ui/State'
import { VoucherBody } from '@/vouchers/VoucherBody'
import { VoucherHead } from '@/vouchers/VoucherHead'

import { VoucherDocument } from './voucher.gql'
import css from './Voucher.module.css'

const useTexts = texts(
  {
    title: 'Voucher',
    limit: 'Limit 1 per customer',
    noLimit: 'No purchase limit',
    unavailable: 'Unavailable',
  },
  { title: '代金券', limit: '每人限购 1 张', noLimit: '不限购', unavailable: '已下架' },
)

/** A regular voucher: value, terms of use and the buy button. */
export function Voucher({ id }: { id: string }) {
  const t = useTexts()
  const [{ data, error }, refetch] = useApiQuery({ query: VoucherDocument, variables: { id } })
  const reload = () => refetch({ requestPolicy: 'network-only' })
  const voucher = data?.voucher
  if (!voucher) {
    if (voucher === null || (error && errorCode(error) === 'BAD_USER_INPUT')) return <NotFound />
    return (
      <Screen title={t.title} backTo="/">
        {error ? <ErrorState error={error} onRetry={reload} /> : <Skeleton shape="card" />}
      </Screen>
    )
  }
  if (voucher.kind === 'FlashVoucher') return <Redirect to={`/sales/${id}`} replace />

  const off = voucher.status !== 'ON_SALE'
  return (
    <Screen title={voucher.title} backTo={`/shops/${voucher.shop.id}`}>
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
            <p className={css.limit}>{voucher.onePerUser ? t.limit : t.noLimit}</p>
          </VoucherHead>
          <VoucherBody voucher={voucher} />
        </div>
        <BuyBar voucher={voucher} closed={off ? t.unavailable : null} onRefused={reload} />
      </div>
    </Screen>
  )
}
