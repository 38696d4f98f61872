import { Screen } from '@/ui/Screen'

export function Shop(props: { id: string }) {
  return (
    <Screen title={`Shop ${Object.values(props).join(' ')}`} up="/">
      …
    </Screen>
  )
}
