import { Screen } from '@/ui/Screen'

export function Order(props: { id: string }) {
  return (
    <Screen title={`Order ${Object.values(props).join(' ')}`} up="/">
      …
    </Screen>
  )
}
