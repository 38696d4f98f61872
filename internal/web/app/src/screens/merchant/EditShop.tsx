import { Screen } from '@/ui/Screen'

export function NewShop() {
  return (
    <Screen title="NewShop" up="/">
      …
    </Screen>
  )
}

export function EditShop(props: { id: string }) {
  return (
    <Screen title={`EditShop ${Object.values(props).join(' ')}`} up="/">
      …
    </Screen>
  )
}
