import { texts } from '@/i18n/texts'
import { ButtonLink } from '@/ui/Button'
import { Screen } from '@/ui/Screen'
import { EmptyState } from '@/ui/State'

const useTexts = texts(
  {
    title: 'Page not found',
    text: 'This page doesn’t exist or was removed.',
    home: 'Go to home',
  },
  { title: '找不到页面', text: '页面不存在或已被删除。', home: '回到首页' },
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
