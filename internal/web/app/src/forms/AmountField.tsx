import { useFormat } from '@/i18n/format'
import { texts } from '@/i18n/texts'
import { Field } from '@/ui/Field'

import { parseAmount, isPlainAmount } from './fieldFormat'

const useTexts = texts(
  {
    reading: (amount: string) => `= ${amount}`,
    ambiguous: 'This could be two amounts. Enter it like 1200 or 1.20.',
  },
  {
    reading: (amount) => `= ${amount}`,
    ambiguous: '这个金额有两种读法，请写成 1200 或 1.20。',
  },
)

interface AmountFieldProps {
  readonly label: string
  readonly error: string | undefined
  readonly value: string
  readonly onChange: (value: string) => void
}

/** An input for an amount in yuan. It shows its interpretation of unusual formats. */
export function AmountField({ label, error, value, onChange }: AmountFieldProps) {
  const t = useTexts()
  const { money } = useFormat()
  const amount = parseAmount(value)
  const reading =
    typeof amount === 'number' && !isPlainAmount(value) ? t.reading(money(amount)) : undefined
  const hint = amount === 'ambiguous' ? t.ambiguous : reading
  const message =
    amount === 'ambiguous' ? t.ambiguous : [reading, error].filter(Boolean).join(' · ')
  return (
    <Field
      label={label}
      error={error === undefined ? undefined : message}
      {...(hint === undefined ? {} : { hint })}
      inputMode="decimal"
      autoComplete="off"
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  )
}
