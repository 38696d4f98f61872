import { useId, type InputHTMLAttributes, type ReactNode, type TextareaHTMLAttributes } from 'react'

import css from './Field.module.css'

interface FieldProps {
  readonly label: string
  /** What is wrong with it; said by screen readers with the field. */
  readonly error?: string | null | undefined
  readonly hint?: string
}

/** A labelled input of one line. */
export function Field({
  label,
  error,
  hint,
  ...input
}: FieldProps & InputHTMLAttributes<HTMLInputElement>) {
  return (
    <Labelled {...{ label, error, hint }}>{(given) => <input {...input} {...given} />}</Labelled>
  )
}

/** A labelled input of several lines. */
export function Area({
  label,
  error,
  hint,
  ...input
}: FieldProps & TextareaHTMLAttributes<HTMLTextAreaElement>) {
  return (
    <Labelled {...{ label, error, hint }}>
      {(given) => <textarea rows={4} {...input} {...given} />}
    </Labelled>
  )
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
