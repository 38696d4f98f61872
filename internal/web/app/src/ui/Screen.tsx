import { ChevronLeft } from 'lucide-react'
import { useEffect, useRef, type ReactNode } from 'react'
import { useLocation } from 'wouter'

import { cameFromHere, takeFocus } from '@/app/entries'
import { isIsolated, isolate } from '@/i18n/isolate'
import { texts } from '@/i18n/texts'

import { IconButton } from './Button'
import css from './Screen.module.css'

const useTexts = texts({ back: 'Back' }, { back: '返回' })

interface ScreenProps {
  /** Its heading, and the title of the page. */
  readonly title: string
  /** Where the back button leads when nobody came from anywhere; none on the screens of the tabs. */
  readonly up?: string
  /** Stands at the end of the heading's line. */
  readonly action?: ReactNode
  /** Only those who hear see the heading: the screen shows it in its own way. */
  readonly bare?: boolean
  readonly children: ReactNode
}

/** The frame of every screen: one heading, which the page takes its title from, and the content. */
export function Screen({ title, up, action, bare = false, children }: ScreenProps) {
  const t = useTexts()
  const [, navigate] = useLocation()
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    if (takeFocus()) heading.current?.focus({ preventScroll: true })
  }, [])
  useEffect(() => {
    document.title = `${isolate(title)} · Tandian 探店`
  }, [title])

  // Who came here from another screen goes back to it, who opened the address goes up.
  const back = () => {
    if (cameFromHere()) window.history.back()
    else if (up !== undefined) navigate(up, { replace: true })
  }
  return (
    <>
      <header className={bare && up === undefined ? 'unseen' : css.header}>
        {up !== undefined && (
          <IconButton label={t.back} onClick={back}>
            <ChevronLeft aria-hidden="true" />
          </IconButton>
        )}
        {/* A sentence of ours with a name in it has its own direction. */}
        <h1
          ref={heading}
          tabIndex={-1}
          className={bare ? 'unseen' : css.title}
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
