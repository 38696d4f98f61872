import { useId, type InputHTMLAttributes, type ReactNode, type TextareaHTMLAttributes } from 'react'

import { texts } from '@/i18n/texts'

import css from './Field.module.css'
import { lengthOf } from './graphemes'

const useTexts = texts(
  { long: (n: number, most: number) => `${n} of ${most} characters` },
  { long: (n, most) => `${n} / ${most} 个字符` },
)

interface FieldProps {
  readonly label: string
  /** What is wrong with it; said by screen readers with the field. */
  readonly error?: string | null | undefined
  readonly hint?: string
  /** The most characters that the API takes. What is longer is not cut, but said to be. */
  readonly longest?: number
}

/** A labelled input of one line. */
export function Field({
  label,
  error,
  hint,
  longest,
  ...input
}: FieldProps & InputHTMLAttributes<HTMLInputElement>) {
  const tooLong = useTooLong(input.value, longest)
  // People write in any direction. Dates, phones and passwords have one of their own.
  const words = input.type === undefined || input.type === 'search'
  return (
    <Labelled {...{ label, error: error ?? tooLong, hint }}>
      {(given) => <input {...(words ? { dir: 'auto' } : {})} {...input} {...given} />}
    </Labelled>
  )
}

/** A labelled input of several lines. */
export function Area({
  label,
  error,
  hint,
  longest,
  ...input
}: FieldProps & TextareaHTMLAttributes<HTMLTextAreaElement>) {
  const tooLong = useTooLong(input.value, longest)
  return (
    <Labelled {...{ label, error: error ?? tooLong, hint }}>
      {(given) => <textarea rows={4} dir="auto" {...input} {...given} />}
    </Labelled>
  )
}

function useTooLong(value: unknown, longest: number | undefined): string | undefined {
  const t = useTexts()
  if (longest === undefined || typeof value !== 'string' || value.length <= longest) {
    return undefined
  }
  const n = lengthOf(value)
  return n > longest ? t.long(n, longest) : undefined
}

interface Given {
  readonly id: string
  readonly className: string | undefined
  readonly 'aria-invalid'?: true
  readonly 'aria-describedby'?: string
}

/** The label and the messages around an input, a select or whatever takes what is given. */
export function Labelled({
  label,
  error,
  hint,
  children,
}: {
  label: string
  error?: string | null | undefined
  hint?: string | undefined
  children: (given: Given) => ReactNode
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
