import { useId, type InputHTMLAttributes, type ReactNode, type TextareaHTMLAttributes } from 'react'

import { texts } from '@/i18n/texts'

import css from './Field.module.css'
import { textLength } from './graphemes'

const useTexts = texts(
  { long: (n: number, limit: number) => `Too long: ${n} of ${limit} characters` },
  { long: (n, limit) => `超出字数限制：${n} / ${limit}` },
)

interface FieldProps {
  readonly label: string
  /** Error message, announced with the field. */
  readonly error?: string | null | undefined
  readonly hint?: string
  /** Maximum number of characters. Longer text shows an error and is not cut. */
  readonly limit?: number
}

/** A labelled single-line input. */
export function Field({
  label,
  error,
  hint,
  limit,
  ...input
}: FieldProps & InputHTMLAttributes<HTMLInputElement>) {
  const tooLong = useTooLong(input.value, limit)
  // User text can have any direction. Dates, phones and passwords have their own.
  const words = input.type === undefined || input.type === 'search'
  return (
    <Labelled {...{ label, error: error ?? tooLong, hint }}>
      {(inputProps) => <input {...(words ? { dir: 'auto' } : {})} {...input} {...inputProps} />}
    </Labelled>
  )
}

/** A labelled multi-line input. */
export function TextArea({
  label,
  error,
  hint,
  limit,
  ...input
}: FieldProps & TextareaHTMLAttributes<HTMLTextAreaElement>) {
  const tooLong = useTooLong(input.value, limit)
  return (
    <Labelled {...{ label, error: error ?? tooLong, hint }}>
      {(inputProps) => <textarea rows={4} dir="auto" {...input} {...inputProps} />}
    </Labelled>
  )
}

function useTooLong(value: unknown, limit: number | undefined): string | undefined {
  const t = useTexts()
  if (limit === undefined || typeof value !== 'string' || value.length <= limit) {
    return undefined
  }
  const n = textLength(value)
  return n > limit ? t.long(n, limit) : undefined
}

interface InputProps {
  readonly id: string
  readonly className: string | undefined
  readonly 'aria-invalid'?: true
  readonly 'aria-describedby'?: string
}

/**
 * The label and message around an input or select. `children` receives the props of the control.
 */
export function Labelled({
  label,
  error,
  hint,
  children,
}: {
  label: string
  error?: string | null | undefined
  hint?: string | undefined
  children: (inputProps: InputProps) => ReactNode
}) {
  const id = useId()
  const message = error ?? hint
  return (
    <div className={css.field}>
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        className: css.input,
        ...(error ? { 'aria-invalid': true as const } : {}),
        ...(message ? { 'aria-describedby': `${id}-message` } : {}),
      })}
      {message && (
        <p id={`${id}-message`} className={error ? css.error : css.hint}>
          {message}
        </p>
      )}
    </div>
  )
}
