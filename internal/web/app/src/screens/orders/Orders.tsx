import { useEffect, useEffectEvent } from 'react'
import { useClient, type Client } from 'urql'
import { useSearchParams } from 'wouter'

import type { OrderStatus } from '@/api/types.gql'
import { texts } from '@/i18n/texts'
import { onReopen } from '@/live/socket'
import { useLive } from '@/live/useLive'
import { OrderUpdatesDocument } from '@/orders/order.gql'
import { OrderCard } from '@/orders/OrderCard'
import { ButtonLink } from '@/ui/Button'
import { Pages } from '@/ui/Pages'
import { Screen } from '@/ui/Screen'
import { Skeleton } from '@/ui/Skeleton'
import { EmptyState } from '@/ui/State'
import { Tabs } from '@/ui/Tabs'

import { OrdersDocument, type OrdersQuery } from './orders.gql'
import css from './Orders.module.css'

const useTexts = texts(
  {
    title: 'Orders',
    tabs: 'Orders by status',
    all: 'All',
    pay: 'Unpaid',
    paid: 'Ready to use',
    used: 'Used',
    over: 'Closed',
    none: 'No orders yet',
    noneHere: 'No orders here',
    browse: 'Browse deals',
    seeAll: 'See all orders',
  },
  {
    title: '订单',
    tabs: '按状态查看订单',
    all: '全部',
    pay: '待付款',
    paid: '待使用',
    used: '已使用',
    over: '已关闭',
    none: '还没有订单。',
    noneHere: '这里没有订单。',
    browse: '去逛逛',
    seeAll: '查看全部订单',
  },
)

const tabs = ['all', 'pay', 'paid', 'used', 'over'] as const
type Tab = (typeof tabs)[number]

const statuses: Record<Tab, readonly OrderStatus[] | null> = {
  all: null,
  pay: ['QUEUED', 'UNPAID'],
  paid: ['PAID'],
  used: ['USED'],
  over: ['CANCELLED', 'REFUNDING', 'REFUNDED', 'FAILED'],
}

const hrefOf = (tab: Tab) => (tab === 'all' ? '/orders' : `/orders?status=${tab}`)

/** The viewer's orders, live. */
export function Orders() {
  const t = useTexts()
  const [params] = useSearchParams()
  const tab = tabs.find((name) => name === params.get('status')) ?? 'all'
  const variables = { status: statuses[tab] }
  useLiveOrders(variables)
  return (
    <Screen title={t.title}>
      <div className={css.tabs}>
        <Tabs
          label={t.tabs}
          tabs={tabs.map((name) => ({ href: hrefOf(name), text: t[name] }))}
          current={hrefOf(tab)}
        />
      </div>
      <h2 className="visually-hidden">{t[tab]}</h2>
      <Pages
        key={tab}
        name={tab}
        document={OrdersDocument}
        variables={variables}
        connection={({ me }) => me?.orders}
        alwaysRefetch
        className={css.list}
        loading={<Skeleton shape="row" count={4} />}
        empty={
          <EmptyState title={tab === 'all' ? t.none : t.noneHere}>
            {tab === 'all' ? (
              <ButtonLink href="/">{t.browse}</ButtonLink>
            ) : (
              <ButtonLink kind="quiet" href="/orders">
                {t.seeAll}
              </ButtonLink>
            )}
          </EmptyState>
        }
      >
        {({ node }, i) => <OrderCard order={node} eager={i < 6} />}
      </Pages>
    </Screen>
  )
}

/**
 * Subscribes to the viewer's orders. The cache updates listed orders. Pages are refetched when an
 * order enters or leaves the list.
 */
function useLiveOrders({ status }: { status: readonly OrderStatus[] | null }): void {
  const client = useClient()
  const { data } = useLive({ query: OrderUpdatesDocument, variables: { orderId: null } })
  const refetchPage = useEffectEvent((after: string | null) => {
    void client
      .query(OrdersDocument, { status, after }, { requestPolicy: 'network-only' })
      .toPromise()
  })
  const update = data?.orderUpdates
  const applyUpdate = useEffectEvent((order: NonNullable<typeof update>) => {
    const matches = status === null || status.includes(order.status)
    const page = cachedPages(client, status).find(({ ids }) => ids.includes(order.id))
    if (matches !== (page !== undefined)) refetchPage(page?.after ?? null)
  })
  useEffect(() => {
    if (update) applyUpdate(update)
  }, [update])
  const refetchAllPages = useEffectEvent(() => {
    for (const { after } of cachedPages(client, status)) refetchPage(after)
  })
  useEffect(() => onReopen(() => refetchAllPages()), [])
}

interface CachedPage {
  /** Cursor of the page; null for the first. */
  readonly after: string | null
  readonly ids: readonly string[]
}

/** Returns the cached pages of the list. */
function cachedPages(client: Client, status: readonly OrderStatus[] | null): readonly CachedPage[] {
  const pages: CachedPage[] = []
  let after: string | null = null
  for (;;) {
    const page: OrdersPage = client.readQuery(
      OrdersDocument,
      { status, after },
      { requestPolicy: 'cache-only' },
    )?.data?.me?.orders
    if (!page) return pages
    pages.push({ after, ids: page.edges.map(({ node }) => node.id) })
    if (!page.pageInfo.hasNextPage || page.pageInfo.endCursor === null) return pages
    after = page.pageInfo.endCursor
  }
}

type OrdersPage = NonNullable<OrdersQuery['me']>['orders'] | undefined
