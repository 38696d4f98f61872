import { Screen } from '@/ui/Screen'

export function Admin() {
  return (
    <Screen title="Admin" up="/">
      …
    </Screen>
  )
}
