import { Screen } from '@/ui/Screen'

export function EditMe() {
  return (
    <Screen title="EditMe" up="/">
      …
    </Screen>
  )
}
