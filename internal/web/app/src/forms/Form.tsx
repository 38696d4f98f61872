import { useEffect, useRef, type FormEvent, type ReactNode, type RefObject } from 'react'

import { useUserErrorText, type UserError } from '@/api/errors'
import { userErrorFor } from '@/api/useApiMutation'

import css from './Form.module.css'

interface FormProps {
  /** Accessible name. */
  readonly label: string
  /** User errors of the last submit. */
  readonly userErrors: readonly UserError[]
  /** Arguments whose errors are shown at their fields. Other errors are shown below the form. */
  readonly fields: readonly string[]
  readonly onSubmit: () => void
  readonly children: ReactNode
}

/** A form that focuses its first invalid field after a rejected submit. */
export function Form({ label, userErrors, fields, onSubmit, children }: FormProps) {
  const errorText = useUserErrorText()
  const ref = useFocusOnError(userErrors)
  const rest = userErrors.filter(({ field }) => !field?.some((name) => fields.includes(name)))
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
      {rest.map((userError) => (
        <p key={userError.code} role="alert" className={css.error}>
          {errorText(userError)}
        </p>
      ))}
    </form>
  )
}

/**
 * Returns a ref for a form. When there are errors, it focuses the first invalid field, and screen
 * readers announce its message.
 */
export function useFocusOnError(
  userErrors: readonly UserError[],
): RefObject<HTMLFormElement | null> {
  const ref = useRef<HTMLFormElement>(null)
  useEffect(() => {
    if (userErrors.length > 0) ref.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus()
  }, [userErrors])
  return ref
}

/** Returns a function that gives the message of a field. For INVALID_INPUT it returns `bounds`. */
export function useFieldErrors(
  userErrors: readonly UserError[],
): (field: string, bounds?: string) => string | undefined {
  const errorText = useUserErrorText()
  return (field, bounds) => {
    const userError = userErrorFor(userErrors, field)
    if (!userError) return undefined
    return userError.code === 'INVALID_INPUT' && bounds !== undefined
      ? bounds
      : errorText(userError)
  }
}

/** Creates the user error of a client-side check. */
export function invalidField(...field: string[]): UserError {
  return { code: 'INVALID_INPUT', message: '', field }
}

/** Fields side by side, if there is space. */
export function Row({ long = false, children }: { long?: boolean; children: ReactNode }) {
  return <div className={`${css.row} ${long ? css.long : ''}`}>{children}</div>
}
