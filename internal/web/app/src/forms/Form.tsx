import { useEffect, useRef, type FormEvent, type ReactNode, type RefObject } from 'react'

import { useRefusalText, type Refusal } from '@/api/errors'
import { refusalOf } from '@/api/useDo'

import css from './Form.module.css'

interface FormProps {
  /** What it is, for those who hear it. */
  readonly label: string
  /** Why it was not taken. */
  readonly refusals: readonly Refusal[]
  /** The arguments that its fields show the refusals of; others stand below. */
  readonly fields: readonly string[]
  readonly onSubmit: () => void
  readonly children: ReactNode
}

/** Fields that are sent together. When some are refused, the focus goes to the first of them. */
export function Form({ label, refusals, fields, onSubmit, children }: FormProps) {
  const say = useRefusalText()
  const ref = useFocusOnWrong(refusals)
  const rest = refusals.filter(({ field }) => !field?.some((name) => fields.includes(name)))
  return (
    <form
      ref={ref}
      className={css.form}
      aria-label={label}
      onSubmit={(event: FormEvent) => {
        event.preventDefault()
        onSubmit()
      }}
    >
      {children}
      {rest.map((refusal) => (
        <p key={refusal.code} role="alert" className={css.error}>
          {say(refusal)}
        </p>
      ))}
    </form>
  )
}

/** For a form: has the focus go to the first field that is refused, where it is heard what is wrong. */
export function useFocusOnWrong(refusals: readonly Refusal[]): RefObject<HTMLFormElement | null> {
  const ref = useRef<HTMLFormElement>(null)
  useEffect(() => {
    if (refusals.length > 0) ref.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus()
  }, [refusals])
  return ref
}

/** Says what is wrong with a field: its bounds, if those are not kept. */
export function useErrorAt(
  refusals: readonly Refusal[],
): (field: string, bounds?: string) => string | undefined {
  const say = useRefusalText()
  return (field, bounds) => {
    const refusal = refusalOf(refusals, field)
    if (!refusal) return undefined
    return refusal.code === 'INVALID_INPUT' && bounds !== undefined ? bounds : say(refusal)
  }
}

/** Makes a refusal of what can be seen here to be wrong. */
export function wrong(...field: string[]): Refusal {
  return { code: 'INVALID_INPUT', message: '', field }
}

/** Fields beside each other where there is room. */
export function Row({ long = false, children }: { long?: boolean; children: ReactNode }) {
  return <div className={`${css.row} ${long ? css.long : ''}`}>{children}</div>
}
