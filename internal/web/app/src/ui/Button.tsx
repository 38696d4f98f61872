import type { ButtonHTMLAttributes, ReactNode } from 'react'
import { Link } from 'wouter'

import css from './Button.module.css'

type Kind = 'primary' | 'quiet' | 'plain' | 'danger'

interface Appearance {
  readonly kind?: Kind
  /** Fills the width of its container. */
  readonly wide?: boolean
  readonly small?: boolean
}

interface ButtonProps extends Appearance, ButtonHTMLAttributes<HTMLButtonElement> {
  /** An action is in progress: clicks are ignored. */
  readonly busy?: boolean
}

/** A button. While busy it stays focusable and sets aria-busy. */
export function Button({ kind, wide, small, busy = false, onClick, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      className={classes({ kind, wide, small })}
      aria-busy={busy || undefined}
      aria-disabled={busy || rest.disabled || undefined}
      onClick={(event) => {
        if (busy) event.preventDefault()
        else onClick?.(event)
      }}
    />
  )
}

/** A link styled as a button. */
export function ButtonLink({
  kind,
  wide,
  small,
  href,
  children,
}: Appearance & { href: string; children: ReactNode }) {
  return (
    <Link href={href} className={classes({ kind, wide, small })}>
      {children}
    </Link>
  )
}

interface IconButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  /** Accessible name and tooltip. */
  readonly label: string
}

/** A button with only an icon. */
export function IconButton({ label, children, ...rest }: IconButtonProps) {
  return (
    <button type="button" {...rest} aria-label={label} title={label} className={css.icon}>
      {children}
    </button>
  )
}

function classes({
  kind = 'primary',
  wide = false,
  small = false,
}: { [K in keyof Appearance]: Appearance[K] | undefined }): string {
  return [css.button, css[kind], wide && css.wide, small && css.small].filter(Boolean).join(' ')
}
