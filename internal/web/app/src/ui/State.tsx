import type { ReactNode } from 'react'
import type { CombinedError } from 'urql'

import { useFailureText } from '@/api/errors'
import { texts } from '@/i18n/texts'

import { Button } from './Button'
import css from './State.module.css'

const useTexts = texts({ again: 'Try again' }, { again: '重试' })

/** Says that there is nothing, and what one can do about it. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className={css.state}>
      <p className={css.title}>{title}</p>
      {children}
    </div>
  )
}

/** Says that something could not be loaded, and tries again. */
export function Failed({ error, again }: { error: CombinedError; again?: () => void }) {
  const t = useTexts()
  const say = useFailureText()
  return (
    <div className={css.state} role="alert">
      <p className={css.title}>{say(error)}</p>
      {again && (
        <Button kind="quiet" onClick={again}>
          {t.again}
        </Button>
      )}
    </div>
  )
}
