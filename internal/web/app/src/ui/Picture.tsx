import css from './Picture.module.css'

interface PictureProps {
  /** Null shows that there is none. */
  readonly src: string | null | undefined
  /** What it shows; empty if it says nothing that the text beside it does not. */
  readonly alt: string
  /** Width over height: its place is kept until it is there, so nothing jumps. */
  readonly ratio?: number
  /** The first ones on a screen are not lazy. */
  readonly eager?: boolean
  /** Show all of it, also where that leaves room beside it. */
  readonly whole?: boolean
}

/** A picture that fills a place of a fixed shape. */
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
