import { Screen } from '@/ui/Screen'

export function Sale(props: { id: string }) {
  return (
    <Screen title={`Sale ${Object.values(props).join(' ')}`} up="/">
      …
    </Screen>
  )
}
