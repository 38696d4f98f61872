import { ExternalLink, Pencil, Plus, Zap } from 'lucide-react'
import type { ReactNode } from 'react'
import { Link, useSearchParams } from 'wouter'

import type { OrderStatus } from '@/api/types.gql'
import { useApiQuery } from '@/api/useApiQuery'
import { useApiMutation } from '@/api/useApiMutation'
import { SalesChart, salesOf } from '@/charts/SalesChart'
import { useLastDays } from '@/charts/useLastDays'
import { VisitsChart } from '@/charts/VisitsChart'
import { useFormat } from '@/i18n/format'
import { isolate } from '@/i18n/isolate'
import { texts } from '@/i18n/texts'
import { useStatusTexts } from '@/orders/statusTexts'
import { Button, ButtonLink } from '@/ui/Button'
import { Labelled } from '@/ui/Field'
import { Pages } from '@/ui/Pages'
import { Picture } from '@/ui/Picture'
import { Score } from '@/ui/Score'
import { Screen } from '@/ui/Screen'
import { Skeleton } from '@/ui/Skeleton'
import { EmptyState, ErrorState } from '@/ui/State'
import { toast } from '@/ui/toast'

import { UpdateFlashVoucherDocument, UpdateVoucherDocument } from './edit-voucher.gql'
import { RequireRole } from './RequireRole'
import {
  MyShopDocument,
  MyShopFiguresDocument,
  MyShopOrdersDocument,
  type MerchantOrderFragment,
  type MerchantVoucherFragment,
  type MyShopQuery,
} from './my-shop.gql'
import css from './MyShop.module.css'

const useTexts = texts(
  {
    title: 'My shop',
    tabs: 'Shop sections',
    vouchers: 'Vouchers',
    orders: 'Orders',
    figures: 'Insights',
    edit: 'Edit shop',
    view: 'View shop page',
    sold: (n: string) => `${n} sold`,
    comments: (n: string) => (n === '1' ? '1 comment' : `${n} comments`),
    notFound: 'This shop doesn’t exist.',
    newVoucher: 'New voucher',
    noVouchers: 'No vouchers yet. Create your first one.',
    flash: 'Flash sale',
    value: (value: string) => `${value} value`,
    left: (n: string, all: string) => `${n} of ${all} left`,
    ON_SALE: 'On sale',
    OFF_SALE: 'Unavailable',
    EXPIRED: 'Ended',
    stop: 'Stop selling',
    start: 'Start selling',
    labelled: (action: string, title: string) => `${action}: ${title}`,
    change: 'Edit',
    started: 'Now on sale.',
    stopped: 'No longer on sale.',
    status: 'Status',
    allOrders: 'All orders',
    noOrders: 'No matching orders',
    paidAt: (when: string) => `Paid ${when}`,
    usedAt: (when: string) => `Redeemed ${when}`,
    orderedAt: (when: string) => `Ordered ${when}`,
    visits: 'Visits, last 30 days',
    visitsSummary: (people: string, views: string) => `Visitors: ${people}, views: ${views}`,
    views: 'Views',
    paid: 'Paid orders',
    amount: 'Revenue',
    people: 'Visitors',
  },
  {
    title: '我的店铺',
    tabs: '店铺管理',
    vouchers: '代金券',
    orders: '订单',
    figures: '数据',
    edit: '编辑店铺',
    view: '查看店铺页',
    sold: (n) => `已售 ${n} 张`,
    comments: (n) => `${n} 条评论`,
    notFound: '店铺不存在。',
    newVoucher: '新建代金券',
    noVouchers: '还没有代金券，来创建第一张吧。',
    flash: '秒杀',
    value: (value) => `面值 ${value}`,
    left: (n, all) => `剩余 ${n} / ${all} 张`,
    ON_SALE: '在售',
    OFF_SALE: '已下架',
    EXPIRED: '已结束',
    stop: '下架',
    start: '上架',
    labelled: (action, title) => `${action}：${title}`,
    change: '编辑',
    started: '已上架。',
    stopped: '已下架。',
    status: '状态',
    allOrders: '全部订单',
    noOrders: '没有符合条件的订单。',
    paidAt: (when) => `支付于 ${when}`,
    usedAt: (when) => `核销于 ${when}`,
    orderedAt: (when) => `下单于 ${when}`,
    visits: '近 30 天访问',
    visitsSummary: (people, views) => `共 ${people} 人访问，浏览 ${views} 次`,
    views: '浏览量',
    paid: '已支付订单',
    amount: '成交额',
    people: '访客',
  },
)

const tabs = ['vouchers', 'orders', 'figures'] as const

/** A shop for its owner: vouchers, orders and insights. */
export function MyShop({ id }: { id: string }) {
  const t = useTexts()
  const [params] = useSearchParams()
  const tab = tabs.find((one) => one === params.get('part')) ?? 'vouchers'
  const [{ data, error }, refetch] = useApiQuery({ query: MyShopDocument, variables: { id } })
  const shop = data?.shop
  return (
    <Screen title={shop?.name ?? t.title} backTo="/merchant">
      <RequireRole role="MERCHANT">
        {shop ? (
          <>
            <Head shop={shop} />
            <nav className={css.tabs} aria-label={t.tabs}>
              {tabs.map((one) => (
                <Link
                  key={one}
                  href={`/merchant/shops/${id}?part=${one}`}
                  replace
                  aria-current={one === tab ? 'page' : undefined}
                >
                  {t[one]}
                </Link>
              ))}
            </nav>
            {tab === 'vouchers' && <Vouchers shop={shop} />}
            {tab === 'orders' && <Orders id={id} />}
            {tab === 'figures' && <Figures id={id} />}
          </>
        ) : error ? (
          <ErrorState error={error} onRetry={() => refetch({ requestPolicy: 'network-only' })} />
        ) : data ? (
          <EmptyState title={t.notFound} />
        ) : (
          <Skeleton shape="row" count={3} />
        )}
      </RequireRole>
    </Screen>
  )
}

type Shop = NonNullable<MyShopQuery['shop']>

function Head({ shop }: { shop: Shop }) {
  const t = useTexts()
  const { number } = useFormat()
  return (
    <div className={css.head}>
      <div className={css.picture}>
        <Picture src={shop.images[0]?.thumbnailUrl} alt="" ratio={1} eager />
      </div>
      <div className={css.about}>
        <p className={css.facts}>
          <Score shop={shop} />
          <span>{t.sold(number(shop.sold))}</span>
          <span>{t.comments(number(shop.commentCount))}</span>
        </p>
        <p className={css.quiet}>
          {[shop.area ?? '', shop.address].filter(Boolean).map(isolate).join(' · ')}
        </p>
      </div>
      <div className={css.actions}>
        <ButtonLink small kind="quiet" href={`/merchant/shops/${shop.id}/edit`}>
          <Pencil aria-hidden="true" size={16} /> {t.edit}
        </ButtonLink>
        <ButtonLink small kind="plain" href={`/shops/${shop.id}`}>
          <ExternalLink aria-hidden="true" size={16} /> {t.view}
        </ButtonLink>
      </div>
    </div>
  )
}

function Vouchers({ shop }: { shop: Shop }) {
  const t = useTexts()
  return (
    <section aria-labelledby="vouchers">
      <div className={css.heading}>
        <h2 id="vouchers">{t.vouchers}</h2>
        <ButtonLink small href={`/merchant/shops/${shop.id}/vouchers/new`}>
          <Plus aria-hidden="true" size={18} /> {t.newVoucher}
        </ButtonLink>
      </div>
      {shop.vouchers.length === 0 ? (
        <EmptyState title={t.noVouchers} />
      ) : (
        <ul className={css.vouchers}>
          {shop.vouchers.map((voucher) => (
            <li key={voucher.id}>
              <Voucher voucher={voucher} />
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

function Voucher({ voucher }: { voucher: MerchantVoucherFragment }) {
  const t = useTexts()
  const { money, number, moment } = useFormat()
  const [update, busy] = useApiMutation(UpdateVoucherDocument)
  const [updateFlash, busyFlash] = useApiMutation(UpdateFlashVoucherDocument)
  const sale = 'sale' in voucher ? voucher.sale : null
  const on = voucher.status === 'ON_SALE'
  const toggleStatus = async () => {
    const input = { id: voucher.id, status: on ? ('OFF_SALE' as const) : ('ON_SALE' as const) }
    const result = await (sale ? updateFlash : update)({ input })
    if (result.ok) toast(on ? t.stopped : t.started)
  }
  const action = on ? t.stop : t.start
  return (
    <article className={css.voucher} data-voucher={voucher.id} data-status={voucher.status}>
      <p className={css.tags}>
        <span className={on ? css.on : css.off}>{t[voucher.status]}</span>
        {sale && (
          <span className={css.flash}>
            <Zap aria-hidden="true" size={14} fill="currentColor" /> {t.flash}
          </span>
        )}
      </p>
      <h3 dir="auto">{voucher.title}</h3>
      {voucher.subTitle !== null && (
        <p className={css.quiet} dir="auto">
          {voucher.subTitle}
        </p>
      )}
      <p className={css.price}>
        <strong>{money(voucher.payValue)}</strong>{' '}
        <span className={css.quiet}>{t.value(money(voucher.faceValue))}</span>
      </p>
      {sale && (
        <div className={css.quiet}>
          <p data-stock={sale.stock}>{t.left(number(sale.stock), number(sale.initialStock))}</p>
          <p>
            {moment(sale.beginsAt)} – {moment(sale.endsAt)}
          </p>
        </div>
      )}
      <div className={css.buttons}>
        <ButtonLink small kind="quiet" href={`/merchant/vouchers/${voucher.id}`}>
          {t.change}
          <span className="visually-hidden">
            {' '}
            <bdi>{voucher.title}</bdi>
          </span>
        </ButtonLink>
        {voucher.status !== 'EXPIRED' && (
          <Button
            small
            kind="plain"
            busy={busy || busyFlash}
            aria-label={t.labelled(action, isolate(voucher.title))}
            onClick={() => void toggleStatus()}
          >
            {action}
          </Button>
        )}
      </div>
    </article>
  )
}

/** Statuses that the order list can be filtered by. */
const statuses: readonly OrderStatus[] = [
  'PAID',
  'USED',
  'UNPAID',
  'CANCELLED',
  'REFUNDING',
  'REFUNDED',
]

function Orders({ id }: { id: string }) {
  const t = useTexts()
  const statusTexts = useStatusTexts()
  const [params, setParams] = useSearchParams()
  const status = statuses.find((one) => one === params.get('status'))
  const choose = (value: string) =>
    setParams(
      (before) => {
        const next = new URLSearchParams(before)
        if (value === '') next.delete('status')
        else next.set('status', value)
        return next
      },
      { replace: true },
    )
  const variables: { id: string; status?: OrderStatus[] } =
    status === undefined ? { id } : { id, status: [status] }
  return (
    <section aria-labelledby="orders">
      <div className={css.heading}>
        <h2 id="orders">{t.orders}</h2>
        <div className={css.choice}>
          <Labelled label={t.status}>
            {(inputProps) => (
              <select
                {...inputProps}
                value={status ?? ''}
                onChange={(event) => choose(event.target.value)}
              >
                <option value="">{t.allOrders}</option>
                {statuses.map((one) => (
                  <option key={one} value={one}>
                    {statusTexts[one]}
                  </option>
                ))}
              </select>
            )}
          </Labelled>
        </div>
      </div>
      <Pages
        key={status ?? 'all'}
        name={`orders:${status ?? 'all'}`}
        document={MyShopOrdersDocument}
        variables={variables}
        connection={({ shop }) => shop?.orders}
        alwaysRefetch
        className={css.orders}
        loading={<Skeleton shape="text" count={4} />}
        empty={<EmptyState title={t.noOrders} />}
      >
        {({ node }) => <OrderRow order={node} />}
      </Pages>
    </section>
  )
}

function OrderRow({ order }: { order: MerchantOrderFragment }) {
  const t = useTexts()
  const { money, moment } = useFormat()
  const statusTexts = useStatusTexts()
  const when =
    order.usedAt !== null
      ? t.usedAt(moment(order.usedAt))
      : order.paidAt !== null
        ? t.paidAt(moment(order.paidAt))
        : t.orderedAt(moment(order.createdAt))
  return (
    <article className={css.order} data-order={order.number} data-status={order.status}>
      <div>
        <h3 dir="auto">{order.terms.title}</h3>
        <p className={css.number}>{order.number}</p>
        <p className={css.quiet}>{when}</p>
      </div>
      <p className={css.sum}>
        <strong>{money(order.payValue)}</strong>
        <span className={order.status === 'PAID' ? css.on : css.off}>
          {statusTexts[order.status]}
        </span>
      </p>
    </article>
  )
}

function Figures({ id }: { id: string }) {
  const t = useTexts()
  const { money, number } = useFormat()
  const { range, error: noDay, refetch: refetchToday } = useLastDays(30)
  const [{ data, error = noDay }, refetch] = useApiQuery({
    query: MyShopFiguresDocument,
    variables: { id, from: '', to: '', ...range },
    pause: range === null,
  })
  const shop = data?.shop
  if (!shop) {
    const reload = () =>
      range === null ? refetchToday() : refetch({ requestPolicy: 'network-only' })
    return error ? (
      <ErrorState error={error} onRetry={reload} />
    ) : (
      <Skeleton shape="picture" count={2} />
    )
  }
  const { visits, visitsByDay, salesByDay } = shop
  const { amount, paid } = salesOf(salesByDay)
  return (
    <section className={css.figures} aria-labelledby="figures">
      <h2 id="figures" className="visually-hidden">
        {t.figures}
      </h2>
      <dl className={css.totals}>
        <Total label={t.amount} name="amount" value={money(amount)} />
        <Total label={t.paid} name="paid" value={number(paid)} />
        <Total label={t.people} name="visitors" value={number(visits.uniqueVisitors)} />
        <Total label={t.views} name="views" value={number(visits.views)} />
      </dl>
      <div className={css.charts}>
        <VisitsChart
          title={t.visits}
          summary={t.visitsSummary(number(visits.uniqueVisitors), number(visits.views))}
          days={visitsByDay}
        />
        <SalesChart days={salesByDay} />
      </div>
    </section>
  )
}

function Total({ label, name, value }: { label: string; name: string; value: ReactNode }) {
  return (
    <div data-total={name}>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  )
}
