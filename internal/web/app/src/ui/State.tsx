import type { ReactNode } from 'react'
import type { CombinedError } from 'urql'

import { useRequestErrorText } from '@/api/errors'
import { texts } from '@/i18n/texts'

import { Button } from './Button'
import css from './State.module.css'

const useTexts = texts({ retry: 'Try again' }, { retry: '重试' })

/** Shows that there is nothing, with an optional action. */
export function EmptyState({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className={css.state}>
      <p className={css.title}>{title}</p>
      {children}
    </div>
  )
}

/** Shows a failed request, with a retry button. */
export function ErrorState({ error, onRetry }: { error: CombinedError; onRetry?: () => void }) {
  const t = useTexts()
  const errorText = useRequestErrorText()
  return (
    <div className={css.state} role="alert">
      <p className={css.title}>{errorText(error)}</p>
      {onRetry && (
        <Button kind="quiet" onClick={onRetry}>
          {t.retry}
        </Button>
      )}
    </div>
  )
}
