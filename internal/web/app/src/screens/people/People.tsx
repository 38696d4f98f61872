import { Screen } from '@/ui/Screen'

export function People(props: { id: string; list: string }) {
  return (
    <Screen title={`People ${Object.values(props).join(' ')}`} up="/">
      …
    </Screen>
  )
}
