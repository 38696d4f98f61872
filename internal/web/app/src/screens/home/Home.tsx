import { MapPin, Search, Trophy } from 'lucide-react'
import { useEffect, useState } from 'react'
import { Link } from 'wouter'

import { useApiQuery } from '@/api/useApiQuery'
import { texts } from '@/i18n/texts'
import { NoteCard } from '@/notes/NoteCard'
import { locateIfAllowed, usePlace } from '@/place/place'
import { PlacePicker } from '@/place/PlacePicker'
import { filterChips } from '@/shops/filters'
import { ShopCard } from '@/shops/ShopCard'
import { useTypeName } from '@/shops/typeNames'
import { useFilterTexts } from '@/shops/useFilterTexts'
import chips from '@/ui/Chips.module.css'
import { Pages } from '@/ui/Pages'
import { Screen } from '@/ui/Screen'
import { Skeleton } from '@/ui/Skeleton'
import { EmptyState, ErrorState } from '@/ui/State'
import { SaleCard } from '@/vouchers/SaleCard'

import { HomeDocument, HomeShopsDocument, HotNotesDocument } from './home.gql'
import css from './Home.module.css'

const useTexts = texts(
  {
    title: 'Discover',
    search: 'Search shops',
    setLocation: 'Set location',
    nearMe: 'Near me',
    types: 'Categories',
    sales: 'Flash sales',
    nearby: 'Nearby',
    best: 'Best rated',
    all: 'See all',
    rankings: 'Rankings',
    notes: 'Trending notes',
    noShops: 'No shops nearby',
    changeLocation: 'Change location',
    noNotes: 'No notes yet. Be the first to write one.',
  },
  {
    title: '发现',
    search: '搜索店铺',
    setLocation: '选择位置',
    nearMe: '当前位置',
    types: '分类',
    sales: '秒杀',
    nearby: '附近好店',
    best: '高分好店',
    all: '查看全部',
    rankings: '排行榜',
    notes: '热门笔记',
    noShops: '附近没有店铺。',
    changeLocation: '更换位置',
    noNotes: '还没有笔记，来写第一篇吧。',
  },
)

const radius = 5000 // metres

/** The home screen. */
export function Home() {
  const t = useTexts()
  const place = usePlace()
  const [picking, setPicking] = useState(false)
  useEffect(() => void locateIfAllowed(), [])
  return (
    <Screen title={t.title} hideHeading>
      <div className={css.top}>
        <button type="button" className={css.place} onClick={() => setPicking(true)}>
          <MapPin aria-hidden="true" size={20} />
          <span dir="auto">{place === null ? t.setLocation : (place.name ?? t.nearMe)}</span>
        </button>
        <Link href="/search" className={css.search}>
          <Search aria-hidden="true" size={20} />
          <span>{t.search}</span>
        </Link>
      </div>
      {picking && <PlacePicker onClose={() => setPicking(false)} />}
      <div className={css.columns}>
        <div className={css.column}>
          <TypesAndSales />
          <Shops onChangeLocation={() => setPicking(true)} />
        </div>
        <section aria-labelledby="hot">
          <h2 id="hot">{t.notes}</h2>
          <Pages
            name="hot"
            document={HotNotesDocument}
            variables={{}}
            connection={({ hotNotes }) => hotNotes}
            className={css.list}
            loading={<Skeleton shape="card" count={2} />}
            empty={<EmptyState title={t.noNotes} />}
          >
            {({ node }, i) => <NoteCard note={node} eager={i === 0} />}
          </Pages>
        </section>
      </div>
    </Screen>
  )
}

function TypesAndSales() {
  const t = useTexts()
  const typeName = useTypeName()
  const [{ data, error }, refetch] = useApiQuery({ query: HomeDocument, variables: {} })
  if (!data) {
    return error ? (
      <ErrorState error={error} onRetry={() => refetch({ requestPolicy: 'network-only' })} />
    ) : (
      <Skeleton shape="text" count={3} />
    )
  }
  return (
    <>
      <nav aria-label={t.types}>
        <ul className={css.types}>
          {data.shopTypes.map(({ id, name, iconUrl }) => (
            <li key={id}>
              <Link href={`/search?type=${id}`} className={css.type}>
                <span className={css.icon}>
                  {iconUrl !== null && <img src={iconUrl} alt="" width={48} height={48} />}
                </span>
                <bdi>{typeName(name)}</bdi>
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      {data.flashSales.edges.length > 0 && (
        <section aria-labelledby="sales">
          <h2 id="sales">{t.sales}</h2>
          <ul className={css.sales}>
            {data.flashSales.edges.map(({ node }) => (
              <li key={node.id}>
                <SaleCard voucher={node} withShop />
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  )
}

function Shops({ onChangeLocation }: { onChangeLocation: () => void }) {
  const t = useTexts()
  const filterTexts = useFilterTexts()
  const place = usePlace()
  const near = place === null ? null : { lat: place.lat, lng: place.lng, radius }
  const [{ data, error }, refetch] = useApiQuery({
    query: HomeShopsDocument,
    variables: { near, first: 6 },
  })
  return (
    <section aria-labelledby="shops">
      <div className={css.heading}>
        <h2 id="shops">{near === null ? t.best : t.nearby}</h2>
        <Link href="/search">{t.all}</Link>
      </div>
      <ul className={chips.chips}>
        <li>
          <Link href="/rankings">
            <Trophy aria-hidden="true" size={18} />
            {t.rankings}
          </Link>
        </li>
        {filterChips.map(({ name, param, value }) => (
          <li key={name}>
            <Link href={`/search?${param}=${value}`}>{filterTexts[name]}</Link>
          </li>
        ))}
      </ul>
      {data ? (
        <ul className={css.list}>
          {data.shops.edges.map(({ node, distance }, i) => (
            <li key={node.id}>
              <ShopCard shop={node} distance={distance} eager={i < 3} />
            </li>
          ))}
        </ul>
      ) : error ? (
        <ErrorState error={error} onRetry={() => refetch({ requestPolicy: 'network-only' })} />
      ) : (
        <Skeleton shape="row" count={4} />
      )}
      {data?.shops.edges.length === 0 && (
        <EmptyState title={t.noShops}>
          <button type="button" className={css.place} onClick={onChangeLocation}>
            {t.changeLocation}
          </button>
        </EmptyState>
      )}
    </section>
  )
}
