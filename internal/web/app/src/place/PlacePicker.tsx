import { LocateFixed, MapPin } from 'lucide-react'
import { useState } from 'react'

import { useApiQuery } from '@/api/useApiQuery'
import { texts } from '@/i18n/texts'
import { Button } from '@/ui/Button'
import { Dialog } from '@/ui/Dialog'
import { Field } from '@/ui/Field'
import { cut } from '@/ui/graphemes'
import { Skeleton } from '@/ui/Skeleton'
import { EmptyState, ErrorState } from '@/ui/State'
import { toast } from '@/ui/toast'
import { useDebounced } from '@/ui/useDebounced'

import { canLocate, locate, setPlace } from './place'
import { PlacesDocument } from './places.gql'
import css from './PlacePicker.module.css'

const useTexts = texts(
  {
    title: 'Set location',
    locate: 'Use my location',
    refused: 'We couldn’t get your location. Pick a place instead.',
    search: 'Search for a shop or street',
    none: 'No matches. Try another name.',
  },
  {
    title: '选择位置',
    locate: '使用当前位置',
    refused: '无法获取你的位置，请选择一个地点。',
    search: '搜索店铺或街道',
    none: '没有匹配的地点，换个名称试试。',
  },
)

const pause = 250 // ms between the last key and the search

/**
 * Picks the place for nearby shops: the browser's position, or the location of a shop. Browsers
 * share their position only on secure origins.
 */
export function PlacePicker({ onClose }: { onClose: () => void }) {
  const t = useTexts()
  const [words, setWords] = useState('')
  const [busy, setBusy] = useState(false)
  const search = useDebounced(cut(words.trim(), 100), pause)
  const [{ data, error }, refetch] = useApiQuery({
    query: PlacesDocument,
    variables: { filter: search.length < 2 ? null : { search } },
    requestPolicy: 'cache-first',
  })
  return (
    <Dialog title={t.title} onClose={onClose}>
      <div className={css.picker}>
        {canLocate && (
          <Button
            wide
            busy={busy}
            onClick={async () => {
              setBusy(true)
              const found = await locate()
              setBusy(false)
              if (found) onClose()
              else toast(t.refused)
            }}
          >
            <LocateFixed aria-hidden="true" size={20} />
            {t.locate}
          </Button>
        )}
        <Field
          label={t.search}
          type="search"
          value={words}
          onChange={(event) => setWords(event.target.value)}
        />
        {error && !data && (
          <ErrorState error={error} onRetry={() => refetch({ requestPolicy: 'network-only' })} />
        )}
        {!data && !error && <Skeleton shape="text" count={2} />}
        {data?.shops.edges.length === 0 && <EmptyState title={t.none} />}
        <ul className={css.list}>
          {data?.shops.edges.map(({ node }) => (
            <li key={node.id}>
              <button
                type="button"
                className={css.choice}
                onClick={() => {
                  setPlace({ ...node.location, name: node.area ?? node.name })
                  onClose()
                }}
              >
                <MapPin aria-hidden="true" size={20} />
                <span>
                  <bdi>{node.name}</bdi>
                  <small dir="auto">{node.area ?? node.address}</small>
                </span>
              </button>
            </li>
          ))}
        </ul>
      </div>
    </Dialog>
  )
}
