import type { ButtonHTMLAttributes, ReactNode } from 'react'
import { Link } from 'wouter'

import css from './Button.module.css'

type Kind = 'primary' | 'quiet' | 'plain' | 'danger'

interface Look {
  readonly kind?: Kind
  /** As wide as what it stands in. */
  readonly wide?: boolean
  readonly small?: boolean
}

interface ButtonProps extends Look, ButtonHTMLAttributes<HTMLButtonElement> {
  /** Something is under way because of it: it cannot be pressed again. */
  readonly busy?: boolean
}

/** A button. While it is busy it stays focusable, and says so. */
export function Button({ kind, wide, small, busy = false, onClick, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      className={look({ kind, wide, small })}
      aria-busy={busy || undefined}
      aria-disabled={busy || rest.disabled || undefined}
      onClick={(event) => {
        if (busy) event.preventDefault()
        else onClick?.(event)
      }}
    />
  )
}

/** A link that looks like a button. */
export function ButtonLink({
  kind,
  wide,
  small,
  href,
  children,
}: Look & { href: string; children: ReactNode }) {
  return (
    <Link href={href} className={look({ kind, wide, small })}>
      {children}
    </Link>
  )
}

interface IconButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  /** What it does: shown to nobody, said to those who hear. */
  readonly label: string
}

/** A button that shows an icon alone. */
export function IconButton({ label, children, ...rest }: IconButtonProps) {
  return (
    <button type="button" {...rest} aria-label={label} title={label} className={css.icon}>
      {children}
    </button>
  )
}

function look({
  kind = 'primary',
  wide = false,
  small = false,
}: { [K in keyof Look]: Look[K] | undefined }): string {
  return [css.button, css[kind], wide && css.wide, small && css.small].filter(Boolean).join(' ')
}
