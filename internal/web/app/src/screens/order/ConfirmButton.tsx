import { useState } from 'react'

import { useApiMutation } from '@/api/useApiMutation'
import { texts } from '@/i18n/texts'
import { Button } from '@/ui/Button'
import { Dialog } from '@/ui/Dialog'

import {
  CancelOrderDocument,
  DisputeRedemptionDocument,
  RefundOrderDocument,
} from './order-actions.gql'
import css from './ConfirmButton.module.css'

const useTexts = texts(
  {
    cancel: 'Cancel order',
    cancelTitle: 'Cancel this order?',
    cancelText: 'We’ll release it, and someone else may buy it.',
    cancelYes: 'Cancel order',
    cancelNo: 'Keep order',
    refund: 'Request refund',
    refundTitle: 'Refund this voucher?',
    refundText: 'You’ll get your money back, and the code will stop working.',
    refundYes: 'Request refund',
    refundNo: 'Keep voucher',
    dispute: 'I didn’t use this',
    disputeTitle: 'Didn’t use this voucher?',
    disputeText: 'The shop marked it as used. Report it, and we’ll check and may refund you.',
    disputeYes: 'Report',
    disputeNo: 'Not now',
  },
  {
    cancel: '取消订单',
    cancelTitle: '取消这个订单？',
    cancelText: '名额将释放，可能被别人买走。',
    cancelYes: '确认取消',
    cancelNo: '再想想',
    refund: '申请退款',
    refundTitle: '申请退款？',
    refundText: '款项将原路退回，券码随即失效。',
    refundYes: '确认退款',
    refundNo: '再想想',
    dispute: '我没有使用',
    disputeTitle: '没有使用此代金券？',
    disputeText: '商家已核销此代金券。提交反馈后，我们会核实，并可能为你退款。',
    disputeYes: '提交反馈',
    disputeNo: '暂不',
  },
)

interface ConfirmButtonProps {
  readonly action: 'cancel' | 'refund' | 'dispute'
  readonly orderId: string
  readonly refetch: () => void
}

/** A button that asks for confirmation. */
export function ConfirmButton({ action, orderId, refetch }: ConfirmButtonProps) {
  const t = useTexts()
  const [open, setOpen] = useState(false)
  const [cancel, cancelling] = useApiMutation(CancelOrderDocument)
  const [refund, refunding] = useApiMutation(RefundOrderDocument)
  const [dispute, disputing] = useApiMutation(DisputeRedemptionDocument)

  const run = async () => {
    const result = await { cancel, refund, dispute }[action]({ orderId })
    setOpen(false)
    if (!result.ok) refetch()
  }
  return (
    <>
      <Button kind="plain" onClick={() => setOpen(true)}>
        {t[action]}
      </Button>
      {open && (
        <Dialog title={t[`${action}Title`]} onClose={() => setOpen(false)}>
          <div className={css.confirm}>
            <p>{t[`${action}Text`]}</p>
            <Button
              wide
              kind="danger"
              busy={cancelling || refunding || disputing}
              onClick={() => void run()}
            >
              {t[`${action}Yes`]}
            </Button>
            <Button wide kind="quiet" onClick={() => setOpen(false)}>
              {t[`${action}No`]}
            </Button>
          </div>
        </Dialog>
      )}
    </>
  )
}
