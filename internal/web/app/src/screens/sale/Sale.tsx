import { Zap } from 'lucide-react'
import { Redirect } from 'wouter'

import { errorCode } from '@/api/errors'
import { useApiQuery } from '@/api/useApiQuery'
import { useSeconds } from '@/app/clock'
import { texts } from '@/i18n/texts'
import { BuyBar } from '@/orders/BuyBar'
import { NotFound } from '@/screens/notfound/NotFound'
import { Screen } from '@/ui/Screen'
import { Skeleton } from '@/ui/Skeleton'
import { ErrorState } from '@/ui/State'
import { padTwo } from '@/ui/padTwo'
import { Countdown } from '@/vouchers/Countdown'
import { StockBar } from '@/vouchers/StockBar'
import { useLiveSale } from '@/vouchers/useLiveSale'
import { useSaleAnnouncements } from '@/vouchers/useSaleAnnouncements'
import { VoucherBody } from '@/vouchers/VoucherBody'
import { VoucherHead } from '@/vouchers/VoucherHead'

import { SaleDocument, type SaleQuery } from './sale.gql'
import css from './Sale.module.css'

const useTexts = texts(
  {
    title: 'Flash sale',
    begins: 'Starts in',
    ends: 'Ends in',
    startsIn: (left: string) => `Starts in ${left}`,
    soldOut: 'Sold out',
    ended: 'Sale ended',
    unavailable: 'Unavailable',
    limit: 'Limit 1 per customer',
  },
  {
    title: '秒杀',
    begins: '距开抢',
    ends: '距结束',
    startsIn: (left) => `${left} 后开抢`,
    soldOut: '已抢光',
    ended: '秒杀已结束',
    unavailable: '已下架',
    limit: '每人限购 1 张',
  },
)

type FlashVoucher = Extract<NonNullable<SaleQuery['voucher']>, { kind: 'FlashVoucher' }>

/** A flash sale: countdown, live stock and the buy button. */
export function Sale({ id }: { id: string }) {
  const t = useTexts()
  const [{ data, error }, refetch] = useApiQuery({ query: SaleDocument, variables: { id } })
  const reload = () => refetch({ requestPolicy: 'network-only' })
  const voucher = data?.voucher
  if (voucher?.kind === 'FlashVoucher') return <FlashSale voucher={voucher} reload={reload} />
  if (voucher) return <Redirect to={`/vouchers/${id}`} replace />
  if (error && errorCode(error) !== 'BAD_USER_INPUT') {
    return (
      <Screen title={t.title} backTo="/">
        <ErrorState error={error} onRetry={reload} />
      </Screen>
    )
  }
  if (voucher === null || error) return <NotFound />
  return (
    <Screen title={t.title} backTo="/">
      <Skeleton shape="card" />
    </Screen>
  )
}

function FlashSale({ voucher, reload }: { voucher: FlashVoucher; reload: () => void }) {
  const t = useTexts()
  const sale = useLiveSale(voucher.sale)
  const announcement = useSaleAnnouncements(voucher.sale)
  const { phase, beginsAt, endsAt } = sale
  const left = Math.max(0, Math.ceil(new Date(beginsAt).getTime() / 1000) - useSeconds())

  const closed = {
    UPCOMING: t.startsIn(clock(left)),
    OPEN: null,
    SOLD_OUT: t.soldOut,
    ENDED: t.ended,
  }[phase]
  const off = voucher.status === 'OFF_SALE'
  return (
    <Screen title={voucher.title} backTo={`/shops/${voucher.shop.id}`}>
      <div className={css.layout} data-phase={off ? 'OFF_SALE' : phase}>
        <div className={css.main}>
          <p role="status" className="visually-hidden">
            {announcement}
          </p>
          <VoucherHead
            voucher={voucher}
            tag={
              <>
                <Zap aria-hidden="true" size={18} fill="currentColor" />
                {t.title}
                <span className={css.limit}>{t.limit}</span>
              </>
            }
          >
            {!off && <StockBar sale={voucher.sale} />}
            {off ? (
              <p>{t.unavailable}</p>
            ) : phase === 'ENDED' ? (
              <p>{t.ended}</p>
            ) : (
              <div className={css.countdown}>
                {phase === 'UPCOMING' ? (
                  <Countdown to={beginsAt} label={t.begins} />
                ) : (
                  <Countdown to={endsAt} label={t.ends} />
                )}
              </div>
            )}
          </VoucherHead>
          <VoucherBody voucher={voucher} />
        </div>
        <BuyBar
          voucher={voucher}
          closed={off ? t.unavailable : closed}
          soon={!off && phase === 'UPCOMING'}
          onRefused={reload}
        />
      </div>
    </Screen>
  )
}

/** Formats seconds as a clock: 4:05, 1:00:00. */
function clock(seconds: number): string {
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
  return h > 0 ? `${h}:${padTwo(m)}:${padTwo(s)}` : `${m}:${padTwo(s)}`
}
