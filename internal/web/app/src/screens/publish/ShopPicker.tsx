import { useState } from 'react'

import { useApiQuery } from '@/api/useApiQuery'
import { isolate } from '@/i18n/isolate'
import { texts } from '@/i18n/texts'
import { usePlace } from '@/place/place'
import { Dialog } from '@/ui/Dialog'
import { Field } from '@/ui/Field'
import { cut } from '@/ui/graphemes'
import { Skeleton } from '@/ui/Skeleton'
import { EmptyState, ErrorState } from '@/ui/State'
import { useDebounced } from '@/ui/useDebounced'

import { PickShopsDocument, type PickedShopFragment } from './publish.gql'
import css from './Publish.module.css'

const useTexts = texts(
  {
    title: 'Choose a shop',
    query: 'Shop, neighbourhood or street',
    none: 'No matching shops',
  },
  { title: '选择店铺', query: '店铺、商圈或街道', none: '没有匹配的店铺。' },
)

const pause = 250 // ms between the last key and the question
const radius = 5000 // metres

/** Searches the shop of a note: nearby shops, or by text. */
export function ShopPicker({
  onPick,
  onClose,
}: {
  onPick: (shop: PickedShopFragment) => void
  onClose: () => void
}) {
  const t = useTexts()
  const place = usePlace()
  const [typed, setTyped] = useState('')
  const words = useDebounced(cut(typed.trim(), 100), pause)
  const near = place === null || words !== '' ? null : { lat: place.lat, lng: place.lng, radius }
  const [{ data, error }, refetch] = useApiQuery({
    query: PickShopsDocument,
    variables: { filter: words === '' ? null : { search: words }, near },
  })
  return (
    <Dialog title={t.title} onClose={onClose}>
      <Field
        label={t.query}
        type="search"
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
      />
      <div className={css.found}>
        {data ? (
          <ul>
            {data.shops.edges.map(({ node: { id, name, area, address } }) => (
              <li key={id}>
                <button
                  type="button"
                  className={css.choice}
                  onClick={() => onPick({ id, name, area })}
                >
                  <strong dir="auto">{name}</strong>
                  <span>{[area ?? '', address].filter(Boolean).map(isolate).join(' · ')}</span>
                </button>
              </li>
            ))}
          </ul>
        ) : error ? (
          <ErrorState error={error} onRetry={() => refetch({ requestPolicy: 'network-only' })} />
        ) : (
          <Skeleton shape="text" count={3} />
        )}
        {data?.shops.edges.length === 0 && <EmptyState title={t.none} />}
      </div>
    </Dialog>
  )
}
