import { Screen } from '@/ui/Screen'

export function Note(props: { id: string }) {
  return (
    <Screen title={`Note ${Object.values(props).join(' ')}`} up="/">
      …
    </Screen>
  )
}
