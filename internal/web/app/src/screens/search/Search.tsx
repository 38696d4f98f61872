import { useEffect, useEffectEvent, useState } from 'react'
import { useSearchParams } from 'wouter'

import type { ShopOrder } from '@/api/types.gql'
import { useApiQuery } from '@/api/useApiQuery'
import { texts } from '@/i18n/texts'
import { usePlace } from '@/place/place'
import { filterOf } from '@/shops/filters'
import { ShopCard } from '@/shops/ShopCard'
import { useTypeName } from '@/shops/typeNames'
import { ShopTypesDocument } from '@/shops/types.gql'
import { Button } from '@/ui/Button'
import { Field, Labelled } from '@/ui/Field'
import { cut } from '@/ui/graphemes'
import { Pages } from '@/ui/Pages'
import { Screen } from '@/ui/Screen'
import { Skeleton } from '@/ui/Skeleton'
import { EmptyState } from '@/ui/State'
import { useDebounced } from '@/ui/useDebounced'

import { Filters } from './Filters'
import { SearchShopsDocument } from './search.gql'
import css from './Search.module.css'

const useTexts = texts(
  {
    title: 'Search',
    query: 'Shop, neighbourhood or street',
    type: 'Category',
    anyType: 'All categories',
    order: 'Sort by',
    DISTANCE: 'Nearest',
    SCORE: 'Best rated',
    SOLD: 'Bestselling',
    NEWEST: 'Newest',
    results: 'Shops',
    none: 'No results. Try a different search, category or filter.',
    clear: 'Clear filters',
    everywhere: 'Search everywhere',
  },
  {
    title: '搜索',
    query: '店铺、商圈或街道',
    type: '分类',
    anyType: '全部分类',
    order: '排序',
    DISTANCE: '距离最近',
    SCORE: '评分最高',
    SOLD: '销量最高',
    NEWEST: '最新加入',
    results: '店铺',
    none: '没有符合条件的店铺，换个关键词、分类或筛选条件试试。',
    clear: '清除筛选',
    everywhere: '搜索所有位置',
  },
)

const orders: readonly ShopOrder[] = ['DISTANCE', 'SCORE', 'SOLD', 'NEWEST']
const radius = 50_000 // metres, the API's maximum
const noFilters = { open: '', score: '', price: '', voucher: '', sale: '' }
const pause = 250 // ms between the last key and the search

/**
 * Searches shops by text, category and filters. The URL contains the whole query, so it can be
 * shared.
 */
export function Search() {
  const t = useTexts()
  const typeName = useTypeName()
  const place = usePlace()
  const [params, setParams] = useSearchParams()
  const text = params.get('q') ?? ''
  const type = params.get('type') ?? ''
  const [{ data: types }] = useApiQuery({
    query: ShopTypesDocument,
    variables: {},
    requestPolicy: 'cache-first',
  })

  const near =
    place === null || params.get('where') === 'any'
      ? null
      : { lat: place.lat, lng: place.lng, radius }
  const possible = near === null ? orders.filter((order) => order !== 'DISTANCE') : orders
  const orderBy = possible.find((order) => order === params.get('order')) ?? possible[0]!

  const changeAll = (changes: Record<string, string>) =>
    setParams(
      (before) => {
        const next = new URLSearchParams(before)
        for (const [name, value] of Object.entries(changes)) {
          if (value === '') next.delete(name)
          else next.set(name, value)
        }
        return next
      },
      { replace: true },
    )
  const change = (name: string, value: string) => changeAll({ [name]: value })

  const search = cut(text.trim(), 100)
  const filter = filterOf(params)
  const variables = {
    filter: {
      ...filter,
      ...(search === '' ? {} : { search }),
      ...(type === '' ? {} : { typeId: type }),
    },
    near,
    orderBy,
  }
  const searched = JSON.stringify(variables)
  return (
    <Screen title={t.title} backTo="/">
      <div role="search" className={css.form}>
        <SearchField label={t.query} value={text} onChange={(value) => change('q', value)} />
        <div className={css.choices}>
          <Labelled label={t.type}>
            {(inputProps) => (
              <select
                {...inputProps}
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
            {(inputProps) => (
              <select
                {...inputProps}
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
      <div className={css.filters}>
        <Filters params={params} onChange={change} />
      </div>
      <h2 className="visually-hidden">{t.results}</h2>
      <Pages
        // A new search starts with one page.
        key={searched}
        name={`shops:${searched}`}
        document={SearchShopsDocument}
        variables={variables}
        connection={({ shops }) => shops}
        className={css.list}
        loading={<Skeleton shape="row" count={6} />}
        empty={
          <EmptyState title={t.none}>
            {Object.keys(filter).length > 0 && (
              <Button kind="quiet" onClick={() => changeAll(noFilters)}>
                {t.clear}
              </Button>
            )}
            {near !== null && (
              <Button kind="quiet" onClick={() => change('where', 'any')}>
                {t.everywhere}
              </Button>
            )}
          </EmptyState>
        }
      >
        {({ node, distance }, i) => <ShopCard shop={node} distance={distance} eager={i < 4} />}
      </Pages>
    </Screen>
  )
}

/** A search input that reports its text after a pause. */
function SearchField({
  label,
  value,
  onChange,
}: {
  label: string
  value: string
  onChange: (value: string) => void
}) {
  const [typed, setTyped] = useState(value)
  const debounced = useDebounced(typed, pause)
  const report = useEffectEvent((text: string) => {
    if (text !== value) onChange(text)
  })
  useEffect(() => report(debounced), [debounced])
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
