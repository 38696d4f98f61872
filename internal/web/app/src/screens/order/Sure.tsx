import { useState } from 'react'

import { useDo } from '@/api/useDo'
import { texts } from '@/i18n/texts'
import { Button } from '@/ui/Button'
import { Dialog } from '@/ui/Dialog'

import { CancelOrderDocument, RefundOrderDocument } from './order-actions.gql'
import css from './Sure.module.css'

const useTexts = texts(
  {
    cancel: 'Cancel order',
    cancelTitle: 'Cancel this order?',
    cancelText: 'Your piece goes back, and somebody else may get it.',
    cancelYes: 'Yes, cancel it',
    refund: 'Ask for a refund',
    refundTitle: 'Give it back?',
    refundText: 'You get your money back, and the number is worth nothing any more.',
    refundYes: 'Yes, refund it',
    no: 'Keep it',
  },
  {
    cancel: '取消订单',
    cancelTitle: '取消这个订单？',
    cancelText: '名额将释放，可能被别人买走。',
    cancelYes: '确认取消',
    refund: '申请退款',
    refundTitle: '确定退款？',
    refundText: '款项将退回，券码随即失效。',
    refundYes: '确认退款',
    no: '再想想',
  },
)

interface SureProps {
  readonly action: 'cancel' | 'refund'
  readonly orderId: string
  readonly ask: () => void
}

/** A button for what cannot be taken back, which asks before. */
export function Sure({ action, orderId, ask }: SureProps) {
  const t = useTexts()
  const [open, setOpen] = useState(false)
  const [cancel, cancelling] = useDo(CancelOrderDocument)
  const [refund, refunding] = useDo(RefundOrderDocument)

  const go = async () => {
    const done = await (action === 'cancel' ? cancel({ orderId }) : refund({ orderId }))
    setOpen(false)
    if (!done.ok) ask()
  }
  return (
    <>
      <Button kind="plain" onClick={() => setOpen(true)}>
        {t[action]}
      </Button>
      {open && (
        <Dialog title={t[`${action}Title`]} onClose={() => setOpen(false)}>
          <div className={css.sure}>
            <p>{t[`${action}Text`]}</p>
            <Button wide kind="danger" busy={cancelling || refunding} onClick={() => void go()}>
              {t[`${action}Yes`]}
            </Button>
            <Button wide kind="quiet" onClick={() => setOpen(false)}>
              {t.no}
            </Button>
          </div>
        </Dialog>
      )}
    </>
  )
}
