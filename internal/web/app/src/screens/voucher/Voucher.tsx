import { Screen } from '@/ui/Screen'

export function Voucher(props: { id: string }) {
  return (
    <Screen title={`Voucher ${Object.values(props).join(' ')}`} up="/">
      …
    </Screen>
  )
}
