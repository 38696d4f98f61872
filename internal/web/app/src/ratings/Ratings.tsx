import { PenLine, Star } from 'lucide-react'
import { Suspense, useState } from 'react'

import { useApiQuery } from '@/api/useApiQuery'
import { lazyScreen } from '@/app/upgrade'
import { useFormat } from '@/i18n/format'
import { texts } from '@/i18n/texts'
import { useSession } from '@/session/session'
import { useSignInGuard } from '@/session/useSignInGuard'
import { Button } from '@/ui/Button'
import { Score } from '@/ui/Score'
import { Stars } from '@/ui/Stars'

import { aspectsOf, useAspectTexts, type RatedShop } from './aspects'
import { OwnShopsDocument } from './rating.gql'
import css from './Ratings.module.css'

const RateSheet = lazyScreen(async () => (await import('./RateSheet')).RateSheet)

const useTexts = texts(
  {
    bars: 'Ratings by stars',
    bar: (stars: number, n: number, text: string) =>
      `${stars === 1 ? '1 star' : `${stars} stars`}: ${n === 1 ? '1 rating' : `${text} ratings`}`,
    first: 'Be the first to rate this shop.',
    mine: 'Your rating',
    rate: 'Rate this shop',
    change: 'Change rating',
  },
  {
    bars: '评分分布',
    bar: (stars, _, text) => `${stars} 星：${text} 人`,
    first: '来做第一个评分的人吧。',
    mine: '我的评分',
    rate: '给店铺评分',
    change: '修改评分',
  },
)

/** The ratings of a shop: average, distribution, aspects and the viewer's own. */
export function Ratings({ shop }: { shop: RatedShop }) {
  const t = useTexts()
  const aspectTexts = useAspectTexts()
  const { rating, viewerRating } = shop
  const aspects = aspectsOf(shop.type.name).filter((aspect) => rating[aspect] !== null)
  return (
    <div className={css.ratings} data-ratings={rating.count}>
      <p className={css.average}>
        <Score shop={shop} />
      </p>
      {rating.count > 0 ? <Bars distribution={rating.distribution} /> : <p>{t.first}</p>}
      {aspects.length > 0 && (
        <dl className={css.aspects}>
          {aspects.map((aspect) => (
            <div key={aspect}>
              <dt>{aspectTexts[aspect]}</dt>
              <dd>{rating[aspect]?.toFixed(1)}</dd>
            </div>
          ))}
        </dl>
      )}
      {viewerRating !== null && (
        <p className={css.mine} data-mine={viewerRating.stars}>
          {t.mine} <Stars value={viewerRating.stars} size={18} />
        </p>
      )}
      <RateButton shop={shop} label={viewerRating === null ? t.rate : t.change} />
    </div>
  )
}

/** How many ratings have five to one stars. */
function Bars({ distribution }: { distribution: readonly number[] }) {
  const t = useTexts()
  const { number } = useFormat()
  const most = Math.max(1, ...distribution)
  return (
    <ul className={css.bars} aria-label={t.bars}>
      {[5, 4, 3, 2, 1].map((stars) => {
        const n = distribution[stars - 1] ?? 0
        return (
          <li key={stars}>
            <span className="visually-hidden">{t.bar(stars, n, number(n))}</span>
            <span aria-hidden="true">
              {stars} <Star size={12} fill="currentColor" />
            </span>
            <span aria-hidden="true" className={css.bar}>
              <span style={{ width: `${(100 * n) / most}%` }} />
            </span>
            <span aria-hidden="true">{number(n)}</span>
          </li>
        )
      })}
    </ul>
  )
}

/** Opens the rate sheet. Owners cannot rate their shop and see nothing. */
function RateButton({ shop, label }: { shop: RatedShop; label: string }) {
  const session = useSession()
  const signedIn = useSignInGuard()
  const [rating, setRating] = useState(false)
  const [{ data, fetching }] = useApiQuery({
    query: OwnShopsDocument,
    variables: {},
    requestPolicy: 'cache-first',
    pause: session === null,
    refetchOnResume: false,
  })
  const own = data?.me?.shops?.edges.some(({ node }) => node.id === shop.id)
  if (own || fetching) return null
  return (
    <>
      <Button
        kind="quiet"
        onClick={() => {
          if (signedIn()) setRating(true)
        }}
      >
        <PenLine aria-hidden="true" size={18} />
        {label}
      </Button>
      {rating && (
        <Suspense fallback={null}>
          <RateSheet shop={shop} onClose={() => setRating(false)} />
        </Suspense>
      )}
    </>
  )
}
