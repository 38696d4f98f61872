import { Screen } from '@/ui/Screen'

export function Me() {
  return (
    <Screen title="Me" up="/">
      …
    </Screen>
  )
}
