import { useEffect, useEffectEvent, useState } from 'react'
import { useSearchParams } from 'wouter'

import type { ShopOrder } from '@/api/types.gql'
import { useAsk } from '@/api/useAsk'
import { texts } from '@/i18n/texts'
import { usePlace } from '@/place/place'
import { ShopCard } from '@/shops/ShopCard'
import { useTypeName } from '@/shops/typeNames'
import { ShopTypesDocument } from '@/shops/types.gql'
import { Field, Labelled } from '@/ui/Field'
import { cut } from '@/ui/graphemes'
import { Pages } from '@/ui/Pages'
import { Screen } from '@/ui/Screen'
import { Skeleton } from '@/ui/Skeleton'
import { Empty } from '@/ui/State'
import { useSettled } from '@/ui/useSettled'

import { SearchShopsDocument } from './search.gql'
import css from './Search.module.css'

const useTexts = texts(
  {
    title: 'Search',
    words: 'Name, quarter or street',
    type: 'Kind',
    anyType: 'All kinds',
    order: 'Sort by',
    DISTANCE: 'Nearest',
    SCORE: 'Best rated',
    SOLD: 'Most sold',
    NEWEST: 'Newest',
    results: 'Shops',
    none: 'No shop is like that. Try fewer words or another kind.',
  },
  {
    title: '搜索',
    words: '店名、商圈或街道',
    type: '分类',
    anyType: '全部分类',
    order: '排序',
    DISTANCE: '距离最近',
    SCORE: '评分最高',
    SOLD: '销量最高',
    NEWEST: '最新加入',
    results: '店铺',
    none: '没有符合条件的店铺，试试其他关键词或分类。',
  },
)

const orders: readonly ShopOrder[] = ['DISTANCE', 'SCORE', 'SOLD', 'NEWEST']
const radius = 50_000 // metres, as far as the API looks
const pause = 250 // ms between the last key and the question

/** Shops by words, kind and order. All of it stands in the address, so that it can be shared. */
export function Search() {
  const t = useTexts()
  const typeName = useTypeName()
  const place = usePlace()
  const [params, setParams] = useSearchParams()
  const words = params.get('q') ?? ''
  const type = params.get('type') ?? ''
  const [{ data: types }] = useAsk({
    query: ShopTypesDocument,
    variables: {},
    requestPolicy: 'cache-first',
  })

  const possible = place === null ? orders.filter((order) => order !== 'DISTANCE') : orders
  const orderBy = possible.find((order) => order === params.get('order')) ?? possible[0]!

  const change = (name: string, value: string) =>
    setParams(
      (before) => {
        const next = new URLSearchParams(before)
        if (value === '') next.delete(name)
        else next.set(name, value)
        return next
      },
      { replace: true },
    )

  const search = cut(words.trim(), 100)
  const variables = {
    filter: { ...(search === '' ? {} : { search }), ...(type === '' ? {} : { typeId: type }) },
    near:
      orderBy === 'DISTANCE' && place !== null ? { lat: place.lat, lng: place.lng, radius } : null,
    orderBy,
  }
  const searched = JSON.stringify(variables)
  return (
    <Screen title={t.title} up="/">
      <div role="search" className={css.form}>
        <Words label={t.words} value={words} onChange={(value) => change('q', value)} />
        <div className={css.choices}>
          <Labelled label={t.type}>
            {(given) => (
              <select
                {...given}
                value={type}
                onChange={(event) => change('type', event.target.value)}
              >
                <option value="">{t.anyType}</option>
                {types?.shopTypes.map(({ id, name }) => (
                  <option key={id} value={id} dir="auto">
                    {typeName(name)}
                  </option>
                ))}
              </select>
            )}
          </Labelled>
          <Labelled label={t.order}>
            {(given) => (
              <select
                {...given}
                value={orderBy}
                onChange={(event) => change('order', event.target.value)}
              >
                {possible.map((order) => (
                  <option key={order} value={order}>
                    {t[order]}
                  </option>
                ))}
              </select>
            )}
          </Labelled>
        </div>
      </div>
      <h2 className="unseen">{t.results}</h2>
      <Pages
        // Another search begins with one page, however far this one was scrolled.
        key={searched}
        name={`shops:${searched}`}
        document={SearchShopsDocument}
        variables={variables}
        connection={({ shops }) => shops}
        className={css.list}
        loading={<Skeleton shape="row" count={6} />}
        empty={<Empty title={t.none} />}
      >
        {({ node, distance }, i) => <ShopCard shop={node} distance={distance} eager={i < 4} />}
      </Pages>
    </Screen>
  )
}

/** Tells what is typed when nothing was for a moment. */
function Words({
  label,
  value,
  onChange,
}: {
  label: string
  value: string
  onChange: (value: string) => void
}) {
  const [typed, setTyped] = useState(value)
  const settled = useSettled(typed, pause)
  const tell = useEffectEvent((words: string) => {
    if (words !== value) onChange(words)
  })
  useEffect(() => tell(settled), [settled])
  return (
    <Field
      label={label}
      type="search"
      enterKeyHint="search"
      value={typed}
      onChange={(event) => setTyped(event.target.value)}
    />
  )
}
