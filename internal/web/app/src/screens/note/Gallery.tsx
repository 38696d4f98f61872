import { ChevronLeft, ChevronRight } from 'lucide-react'
import { useRef, useState } from 'react'

import { texts } from '@/i18n/texts'
import { IconButton } from '@/ui/Button'

import css from './Gallery.module.css'

const useTexts = texts(
  {
    pictures: 'Pictures',
    picture: (n: number, of: number) => `Picture ${n} of ${of}`,
    before: 'Picture before',
    next: 'Next picture',
  },
  {
    pictures: '图片',
    picture: (n, of) => `第 ${n} 张，共 ${of} 张`,
    before: '上一张',
    next: '下一张',
  },
)

interface GalleryProps {
  readonly images: readonly {
    readonly url: string
    readonly width: number | null
    readonly height: number | null
  }[]
}

const tallest = 3 / 4 // width over height
const widest = 16 / 9

/** Pictures side by side, in a place that has the shape of the first. */
export function Gallery({ images }: GalleryProps) {
  const t = useTexts()
  const list = useRef<HTMLUListElement>(null)
  const [shown, setShown] = useState(0)
  const [first] = images
  const ratio = first?.width && first.height ? first.width / first.height : 4 / 3

  const go = (to: number) =>
    list.current?.scrollTo({ left: to * list.current.clientWidth, behavior: 'smooth' })
  return (
    <section className={css.gallery} aria-label={t.pictures}>
      <ul
        ref={list}
        className={css.pictures}
        style={{ aspectRatio: Math.min(Math.max(ratio, tallest), widest) }}
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls by the keys
        tabIndex={images.length > 1 ? 0 : undefined}
        aria-label={t.pictures}
        onScroll={({ currentTarget: { scrollLeft, clientWidth } }) =>
          setShown(Math.round(scrollLeft / Math.max(clientWidth, 1)))
        }
      >
        {images.map(({ url, width, height }, i) => (
          <li key={url}>
            <img
              src={url}
              alt={t.picture(i + 1, images.length)}
              {...(width !== null && height !== null ? { width, height } : {})}
              loading={i === 0 ? 'eager' : 'lazy'}
              decoding="async"
            />
          </li>
        ))}
      </ul>
      {images.length > 1 && (
        <div className={css.steps}>
          <IconButton label={t.before} disabled={shown === 0} onClick={() => go(shown - 1)}>
            <ChevronLeft aria-hidden="true" />
          </IconButton>
          <span className={css.dots} aria-hidden="true">
            {images.map(({ url }, i) => (
              <span key={url} data-shown={i === shown || undefined} />
            ))}
          </span>
          <span className="unseen" role="status">
            {t.picture(shown + 1, images.length)}
          </span>
          <IconButton
            label={t.next}
            disabled={shown === images.length - 1}
            onClick={() => go(shown + 1)}
          >
            <ChevronRight aria-hidden="true" />
          </IconButton>
        </div>
      )}
    </section>
  )
}
