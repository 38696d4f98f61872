import { ChevronLeft, ChevronRight } from 'lucide-react'
import { useRef, useState } from 'react'

import { texts } from '@/i18n/texts'

import css from './Gallery.module.css'
import { Picture } from './Picture'

const useTexts = texts(
  {
    picture: (n: number, all: number) => `Photo ${n} of ${all}`,
    previous: 'Previous photo',
    next: 'Next photo',
  },
  {
    picture: (n, all) => `第 ${n} 张，共 ${all} 张`,
    previous: '上一张',
    next: '下一张',
  },
)

interface GalleryProps {
  /** Accessible name. */
  readonly label: string
  readonly images: readonly { readonly url: string }[]
  /** Aspect ratio of all pictures (width / height). */
  readonly ratio: number
  /** Show the whole picture, with space around it if needed. */
  readonly whole?: boolean
}

/** A carousel: swipe on phones, arrow keys and buttons elsewhere. */
export function Gallery({ label, images, ratio, whole = false }: GalleryProps) {
  const t = useTexts()
  const strip = useRef<HTMLUListElement>(null)
  const [index, setIndex] = useState(0)
  const go = (by: number) => {
    const list = strip.current
    list?.scrollTo({ left: (index + by) * list.clientWidth })
  }
  const several = images.length > 1
  return (
    <div className={css.gallery} role="group" aria-label={label} data-picture={index + 1}>
      <ul
        ref={strip}
        className={css.strip}
        // Arrow keys scroll the focused element.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={several ? 0 : undefined}
        onScroll={({ currentTarget: { scrollLeft, clientWidth } }) =>
          setIndex(Math.round(scrollLeft / Math.max(clientWidth, 1)))
        }
      >
        {images.map(({ url }, i) => (
          <li key={url}>
            <Picture
              src={url}
              alt={t.picture(i + 1, images.length)}
              ratio={ratio}
              whole={whole}
              eager={i === 0}
            />
          </li>
        ))}
      </ul>
      {several && (
        <>
          <p className={css.count} aria-hidden="true">
            {index + 1} / {images.length}
          </p>
          <p className="visually-hidden" role="status">
            {t.picture(index + 1, images.length)}
          </p>
          {/* Not disabled at the ends, so that the pressed button keeps the focus. */}
          <button
            type="button"
            className={css.previous}
            aria-label={t.previous}
            aria-disabled={index === 0}
            onClick={() => go(-1)}
          >
            <ChevronLeft aria-hidden="true" />
          </button>
          <button
            type="button"
            className={css.next}
            aria-label={t.next}
            aria-disabled={index === images.length - 1}
            onClick={() => go(1)}
          >
            <ChevronRight aria-hidden="true" />
          </button>
        </>
      )}
    </div>
  )
}
