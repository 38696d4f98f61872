import { Screen } from '@/ui/Screen'

export function User(props: { id: string }) {
  return (
    <Screen title={`User ${Object.values(props).join(' ')}`} up="/">
      …
    </Screen>
  )
}
