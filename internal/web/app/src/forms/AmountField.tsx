import { useFormat } from '@/i18n/format'
import { texts } from '@/i18n/texts'
import { Field } from '@/ui/Field'

import { parseAmount, isPlainAmount } from './fieldFormat'

const useTexts = texts(
  {
    means: (amount: string) => `= ${amount}`,
    ambiguous: 'This can mean two amounts. Write it like 1200 or 1.20.',
  },
  {
    means: (amount) => `= ${amount}`,
    ambiguous: '这个金额有两种读法，请写成 1200 或 1.20 的形式。',
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
    typeof amount === 'number' && !isPlainAmount(value) ? t.means(money(amount)) : undefined
  const hint = amount === 'ambiguous' ? t.ambiguous : reading
  const whatIsWrong =
    amount === 'ambiguous' ? t.ambiguous : [reading, error].filter(Boolean).join(' · ')
  return (
    <Field
      label={label}
      error={error === undefined ? undefined : whatIsWrong}
      {...(hint === undefined ? {} : { hint })}
      inputMode="decimal"
      autoComplete="off"
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  )
}
