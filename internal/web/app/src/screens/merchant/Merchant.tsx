import { Screen } from '@/ui/Screen'

export function Merchant() {
  return (
    <Screen title="Merchant" up="/">
      …
    </Screen>
  )
}
