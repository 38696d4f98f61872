import { Screen } from '@/ui/Screen'

export function Orders() {
  return (
    <Screen title="Orders" up="/">
      …
    </Screen>
  )
}
