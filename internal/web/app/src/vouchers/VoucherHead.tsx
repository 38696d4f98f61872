import type { ReactNode } from 'react'

import { useFormat } from '@/i18n/format'
import { texts } from '@/i18n/texts'

import css from './VoucherHead.module.css'

const useTexts = texts(
  { save: (amount: string) => `Save ${amount}`, price: 'Price', value: 'Value' },
  { save: (amount) => `立省 ${amount}`, price: '售价', value: '面值' },
)

interface VoucherHeadProps {
  readonly voucher: {
    readonly subTitle: string | null
    readonly payValue: number
    readonly faceValue: number
  }
  readonly tag: ReactNode
  readonly children?: ReactNode
}

/** Price and value of a voucher. */
export function VoucherHead({ voucher, tag, children }: VoucherHeadProps) {
  const t = useTexts()
  const { money } = useFormat()
  const saved = voucher.faceValue - voucher.payValue
  return (
    <div className={css.head}>
      <p className={css.tag}>{tag}</p>
      {voucher.subTitle !== null && (
        <p className={css.sub} dir="auto">
          {voucher.subTitle}
        </p>
      )}
      <p className={css.price}>
        <span className="visually-hidden">{t.price}</span>
        <strong>{money(voucher.payValue)}</strong>
        <span className="visually-hidden">{t.value}</span>
        <s>{money(voucher.faceValue)}</s>
        {saved > 0 && <span className={css.save}>{t.save(money(saved))}</span>}
      </p>
      {children}
    </div>
  )
}
