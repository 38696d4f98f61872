import { Component, type ReactNode } from 'react'

import { texts } from '@/i18n/texts'
import { Button } from '@/ui/Button'
import { Empty } from '@/ui/State'

const useTexts = texts(
  {
    title: 'Something is broken here',
    text: 'This screen could not be shown.',
    reload: 'Load it again',
  },
  { title: '出错了', text: '页面无法显示。', reload: '重新加载' },
)

/** Shows instead of a screen that failed what one can do. */
export class ErrorBoundary extends Component<{ children: ReactNode }, { failed: boolean }> {
  override state = { failed: false }

  static getDerivedStateFromError() {
    return { failed: true }
  }

  override render() {
    return this.state.failed ? <Broken /> : this.props.children
  }
}

function Broken() {
  const t = useTexts()
  return (
    <>
      <h1>{t.title}</h1>
      <Empty title={t.text}>
        <Button onClick={() => window.location.reload()}>{t.reload}</Button>
      </Empty>
    </>
  )
}
