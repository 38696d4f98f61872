import { X } from 'lucide-react'
import { useLayoutEffect, useRef, type ReactNode } from 'react'

import { texts } from '@/i18n/texts'

import { IconButton } from './Button'
import css from './Dialog.module.css'
import { Toasts } from './toast'

const useTexts = texts({ close: 'Close' }, { close: '关闭' })

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ReactNode
}

/** A modal dialog, open while rendered. The browser traps the focus and restores it. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const t = useTexts()
  const ref = useRef<HTMLDialogElement>(null)
  // Close before unmounting, so that the browser restores the focus.
  useLayoutEffect(() => {
    const dialog = ref.current
    dialog?.showModal()
    return () => dialog?.close()
  }, [])
  return (
    <dialog
      ref={ref}
      className={css.dialog}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
    >
      <div className={css.head}>
        <h2>{title}</h2>
        <IconButton label={t.close} onClick={onClose}>
          <X aria-hidden="true" />
        </IconButton>
      </div>
      {children}
      <Toasts />
    </dialog>
  )
}
