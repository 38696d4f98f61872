import { ChevronLeft } from 'lucide-react'
import { useEffect, useRef, type ReactNode } from 'react'
import { useLocation } from 'wouter'

import { hasPreviousScreen, consumePendingFocus } from '@/app/historyEntry'
import { isIsolated, isolate } from '@/i18n/isolate'
import { texts } from '@/i18n/texts'

import { IconButton } from './Button'
import css from './Screen.module.css'

const useTexts = texts({ back: 'Back' }, { back: '返回' })

interface ScreenProps {
  /** Heading and page title. */
  readonly title: string
  /**
   * Target of the back button without history. Omit it on tab screens, which have no back button.
   */
  readonly backTo?: string
  /** Shown at the end of the heading line. */
  readonly action?: ReactNode
  /** Hide the heading visually. */
  readonly hideHeading?: boolean
  readonly children: ReactNode
}

/** The frame of a screen: one heading, the page title and the content. */
export function Screen({ title, backTo, action, hideHeading = false, children }: ScreenProps) {
  const t = useTexts()
  const [, navigate] = useLocation()
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    if (consumePendingFocus()) heading.current?.focus({ preventScroll: true })
  }, [])
  useEffect(() => {
    document.title = `${isolate(title)} · Tandian 探店`
  }, [title])

  // Goes back in the history, or to `backTo` if the URL was opened directly.
  const back = () => {
    if (hasPreviousScreen()) window.history.back()
    else if (backTo !== undefined) navigate(backTo, { replace: true })
  }
  return (
    <>
      <header className={hideHeading && backTo === undefined ? 'visually-hidden' : css.header}>
        {backTo !== undefined && (
          <IconButton label={t.back} onClick={back}>
            <ChevronLeft aria-hidden="true" />
          </IconButton>
        )}
        {/* A translated title with an isolated name keeps the page direction. */}
        <h1
          ref={heading}
          tabIndex={-1}
          className={hideHeading ? 'visually-hidden' : css.title}
          dir={isIsolated(title) ? undefined : 'auto'}
        >
          {title}
        </h1>
        {action}
      </header>
      {children}
    </>
  )
}
