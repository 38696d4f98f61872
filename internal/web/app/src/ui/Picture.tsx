import css from './Picture.module.css'

interface PictureProps {
  /** Null shows a placeholder. */
  readonly src: string | null | undefined
  /** Alternative text; empty if nearby text already says it. */
  readonly alt: string
  /** Aspect ratio (width / height). It reserves the space, so nothing jumps. */
  readonly ratio?: number
  /** Load immediately. Use it for the first pictures of a screen. */
  readonly eager?: boolean
  /** Show the whole picture, with space around it if needed. */
  readonly whole?: boolean
}

/** A picture with a fixed aspect ratio. */
export function Picture({ src, alt, ratio = 4 / 3, eager = false, whole = false }: PictureProps) {
  return (
    <div className={css.place} style={{ aspectRatio: ratio }}>
      {src ? (
        <img
          src={src}
          alt={alt}
          loading={eager ? 'eager' : 'lazy'}
          decoding="async"
          className={whole ? css.whole : undefined}
        />
      ) : (
        <svg viewBox="0 0 24 24" aria-hidden="true">
          <path d="M3 20V9l2-5h14l2 5v11M3 9h18M9 20v-6h6v6" />
        </svg>
      )}
    </div>
  )
}
