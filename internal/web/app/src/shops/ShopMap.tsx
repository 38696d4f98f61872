import { Navigation } from 'lucide-react'
import { Link } from 'wouter'

import { useApiQuery } from '@/api/useApiQuery'
import { useFormat } from '@/i18n/format'
import { isolate } from '@/i18n/isolate'
import { texts } from '@/i18n/texts'

import { spreadApart, fit, offset, type Coordinates } from './map'
import { NeighboursDocument } from './neighbours.gql'
import css from './ShopMap.module.css'
import { useTypeName } from './typeNames'

const useTexts = texts(
  {
    map: (name: string) => `Map around ${name}`,
    north: 'N',
    go: 'Open in maps',
    near: 'Nearby shops',
    alone: 'No other shops nearby',
  },
  {
    map: (name) => `${name} 周边地图`,
    north: '北',
    go: '在地图应用中打开',
    near: '附近店铺',
    alone: '附近没有其他店铺。',
  },
)

const radius = 600 // metres
const maxNumbered = 6 // nearest shops, shown with numbers
const size = { width: 360, height: 320, margin: 22 }
const centre = { x: size.width / 2, y: size.height / 2 }

/** A map of a shop and its neighbours, with a list of the nearest. */
export function ShopMap({
  shop,
}: {
  shop: { readonly id: string; readonly name: string; readonly location: Coordinates }
}) {
  const t = useTexts()
  const { distance: formatDistance } = useFormat()
  const typeName = useTypeName()
  const { lat, lng } = shop.location
  const [{ data }] = useApiQuery({
    query: NeighboursDocument,
    variables: { near: { lat, lng, radius } },
    requestPolicy: 'cache-first',
  })
  const others = (data?.shops.edges ?? [])
    .filter(({ node }) => node.id !== shop.id)
    .slice(0, 30)
    .map(({ node, distance }, i) => ({
      shop: node,
      at: offset(node.location, shop.location),
      distance: distance ?? 0,
      index: i,
    }))
  const { scale, bar } = fit(
    others.map((other) => other.at),
    size,
  )
  const along = bar * scale
  const positions = spreadApart(
    others.map(({ at }) => ({ x: centre.x + at.x * scale, y: centre.y + at.y * scale })),
    centre,
    maxNumbered,
    21,
  )
  const corner = { x: 16, y: size.height - 16 }

  return (
    <div className={css.place}>
      <svg
        className={css.map}
        viewBox={`0 0 ${size.width} ${size.height}`}
        role="group"
        aria-label={t.map(isolate(shop.name))}
        data-neighbours={data ? others.length : undefined}
      >
        {[bar, bar * 2, bar * 3].map((metres) => (
          <circle
            key={metres}
            className={css.ring}
            cx={centre.x}
            cy={centre.y}
            r={metres * scale}
          />
        ))}
        {/* Draw the nearest last, on top. */}
        {[...others].reverse().map(({ shop: { id, name }, distance, index }) => {
          const label = `${isolate(name)}, ${formatDistance(distance)}`
          const { x, y } = positions[index]!
          return (
            <Link
              key={id}
              href={`/shops/${id}`}
              className={index < maxNumbered ? css.near : css.far}
              aria-label={index < maxNumbered ? `${index + 1} ${label}` : label}
            >
              <title>{label}</title>
              <g transform={`translate(${x} ${y})`}>
                <circle className={css.target} r="14" />
                <circle className={css.dot} r={index < maxNumbered ? 10 : 5} />
                {index < maxNumbered && (
                  <text aria-hidden="true" y="4">
                    {index + 1}
                  </text>
                )}
              </g>
            </Link>
          )
        })}
        <g className={css.here} transform={`translate(${centre.x} ${centre.y})`} aria-hidden="true">
          <circle r="10" />
          <circle className={css.middle} r="4" />
        </g>
        <g className={css.bar} aria-hidden="true">
          <path
            d={`M${corner.x} ${corner.y - 6}V${corner.y}H${corner.x + along}V${corner.y - 6}`}
          />
          <text x={corner.x + along / 2} y={corner.y - 6}>
            {formatDistance(bar)}
          </text>
        </g>
        <g className={css.north} aria-hidden="true" transform={`translate(${size.width - 22} 16)`}>
          <path d="M0 0L6 16L0 12L-6 16Z" />
          <text y="29">{t.north}</text>
        </g>
      </svg>
      <a
        className={css.go}
        href={`geo:${lat},${lng}?q=${lat},${lng}(${encodeURIComponent(shop.name)})`}
      >
        <Navigation aria-hidden="true" size={18} />
        {t.go}
        <span className={css.degrees}>
          {lat.toFixed(5)}, {lng.toFixed(5)}
        </span>
      </a>
      {data && (
        <div className={css.list}>
          <h3>{t.near}</h3>
          {others.length === 0 && <p>{t.alone}</p>}
          <ol>
            {others.slice(0, maxNumbered).map(({ shop: { id, name, type }, distance, index }) => (
              <li key={id}>
                <span aria-hidden="true" className={css.number}>
                  {index + 1}
                </span>
                <Link href={`/shops/${id}`} dir="auto">
                  {name}
                </Link>
                <span className={css.what} dir="auto">
                  {typeName(type.name)}
                </span>
                <span className={css.metres}>{formatDistance(distance)}</span>
              </li>
            ))}
          </ol>
        </div>
      )}
    </div>
  )
}
