import { useLocation, useSearchParams } from 'wouter'

import type { ShopRankingKind } from '@/api/types.gql'
import { useApiQuery } from '@/api/useApiQuery'
import { texts } from '@/i18n/texts'
import { ShopCard } from '@/shops/ShopCard'
import { useTypeName } from '@/shops/typeNames'
import { ShopTypesDocument } from '@/shops/types.gql'
import { Labelled } from '@/ui/Field'
import { Pages } from '@/ui/Pages'
import { Screen } from '@/ui/Screen'
import { Skeleton } from '@/ui/Skeleton'
import { EmptyState } from '@/ui/State'
import { Tabs } from '@/ui/Tabs'

import { RankingsDocument } from './rankings.gql'
import css from './Rankings.module.css'

const useTexts = texts(
  {
    title: 'Rankings',
    trending: 'Trending',
    rated: 'Top rated',
    selling: 'Bestselling',
    type: 'Category',
    anyType: 'All categories',
    none: 'No shops ranked here yet',
  },
  {
    title: '排行榜',
    trending: '热门',
    rated: '高分',
    selling: '热销',
    type: '分类',
    anyType: '全部分类',
    none: '暂无上榜店铺。',
  },
)

const tabs = ['trending', 'rated', 'selling'] as const
type Tab = (typeof tabs)[number]

const kinds: Record<Tab, ShopRankingKind> = {
  trending: 'TRENDING',
  rated: 'TOP_RATED',
  selling: 'BEST_SELLING',
}

/** The path of a ranking. */
function hrefOf(tab: Tab, type: string): string {
  const params = new URLSearchParams()
  if (tab !== 'trending') params.set('by', tab)
  if (type !== '') params.set('type', type)
  const query = params.toString()
  return query === '' ? '/rankings' : `/rankings?${query}`
}

/** The best shops of all or of a category, by several measures. */
export function Rankings() {
  const t = useTexts()
  const typeName = useTypeName()
  const [params] = useSearchParams()
  const [, navigate] = useLocation()
  const tab = tabs.find((name) => name === params.get('by')) ?? 'trending'
  const type = params.get('type') ?? ''
  const [{ data: types }] = useApiQuery({
    query: ShopTypesDocument,
    variables: {},
    requestPolicy: 'cache-first',
  })
  return (
    <Screen title={t.title} backTo="/">
      <div className={css.choices}>
        <Tabs
          label={t.title}
          tabs={tabs.map((name) => ({ href: hrefOf(name, type), text: t[name] }))}
          current={hrefOf(tab, type)}
        />
        <Labelled label={t.type}>
          {(inputProps) => (
            <select
              {...inputProps}
              value={type}
              onChange={(event) => navigate(hrefOf(tab, event.target.value), { replace: true })}
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
      </div>
      <h2 className="visually-hidden">{t[tab]}</h2>
      <Pages
        key={tab + type}
        name={`${tab}:${type}`}
        document={RankingsDocument}
        variables={{ kind: kinds[tab], typeId: type === '' ? null : type }}
        connection={({ shopRanking }) => shopRanking}
        className={css.list}
        loading={<Skeleton shape="row" count={6} />}
        empty={<EmptyState title={t.none} />}
      >
        {({ node }, i) => <ShopCard shop={node} eager={i < 4} />}
      </Pages>
    </Screen>
  )
}
