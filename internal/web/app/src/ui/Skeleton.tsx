import { texts } from '@/i18n/texts'

import css from './Skeleton.module.css'

const useTexts = texts({ loading: 'Loading' }, { loading: '加载中' })

/** Placeholders while content loads. */
export function Skeleton({
  shape,
  count = 1,
}: {
  shape: 'card' | 'row' | 'text' | 'picture'
  count?: number
}) {
  const t = useTexts()
  return (
    <div className={css.list} role="status" aria-label={t.loading}>
      {Array.from({ length: count }, (_, i) => (
        <div key={i} className={css[shape]} aria-hidden="true">
          <span />
          <span />
          <span />
        </div>
      ))}
    </div>
  )
}
