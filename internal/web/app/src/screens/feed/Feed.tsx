import { Screen } from '@/ui/Screen'

export function Feed() {
  return (
    <Screen title="Feed" up="/">
      …
    </Screen>
  )
}
