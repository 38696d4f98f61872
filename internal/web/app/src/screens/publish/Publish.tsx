import { Screen } from '@/ui/Screen'

export function Publish() {
  return (
    <Screen title="Publish" up="/">
      …
    </Screen>
  )
}
