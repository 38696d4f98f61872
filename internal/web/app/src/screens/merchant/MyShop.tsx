import { Screen } from '@/ui/Screen'

export function MyShop(props: { id: string }) {
  return (
    <Screen title={`MyShop ${Object.values(props).join(' ')}`} up="/">
      …
    </Screen>
  )
}
