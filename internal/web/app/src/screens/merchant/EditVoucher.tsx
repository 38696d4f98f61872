import { Screen } from '@/ui/Screen'

export function NewVoucher(props: { shopId: string }) {
  return (
    <Screen title={`NewVoucher ${Object.values(props).join(' ')}`} up="/">
      …
    </Screen>
  )
}

export function EditVoucher(props: { id: string }) {
  return (
    <Screen title={`EditVoucher ${Object.values(props).join(' ')}`} up="/">
      …
    </Screen>
  )
}
