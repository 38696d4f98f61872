import { texts } from '@/i18n/texts'
import { ButtonLink } from '@/ui/Button'
import { Screen } from '@/ui/Screen'
import { EmptyState } from '@/ui/State'

const useTexts = texts(
  { title: 'Not here', text: 'There is nothing at this address.', home: 'To the first screen' },
  { title: '找不到页面', text: '这个地址没有内容，可能已被删除。', home: '回到首页' },
)

/** The screen for unknown paths and deleted content. */
export function NotFound() {
  const t = useTexts()
  return (
    <Screen title={t.title} backTo="/">
      <EmptyState title={t.text}>
        <ButtonLink href="/">{t.home}</ButtonLink>
      </EmptyState>
    </Screen>
  )
}
