import { Screen } from '@/ui/Screen'

export function Redeem() {
  return (
    <Screen title="Redeem" up="/">
      …
    </Screen>
  )
}
