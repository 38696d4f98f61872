import { Component, type ReactNode } from 'react'

import { texts } from '@/i18n/texts'
import { Button } from '@/ui/Button'
import { EmptyState } from '@/ui/State'

const useTexts = texts(
  {
    title: 'Something went wrong',
    text: 'We couldn’t show this page. Reload it to try again.',
    reload: 'Reload',
  },
  { title: '出错了', text: '页面无法显示，请重新加载。', reload: '重新加载' },
)

interface Props {
  readonly children: ReactNode
  /** Shown instead of the failed children; a message with a reload button by default. */
  readonly fallback?: ReactNode
}

/** Contains render errors of its children. */
export class ErrorBoundary extends Component<Props, { failed: boolean }> {
  override state = { failed: false }

  static getDerivedStateFromError() {
    return { failed: true }
  }

  override render() {
    const { children, fallback = <DefaultFallback /> } = this.props
    return this.state.failed ? fallback : children
  }
}

function DefaultFallback() {
  const t = useTexts()
  return (
    <>
      <h1>{t.title}</h1>
      <EmptyState title={t.text}>
        <Button onClick={() => window.location.reload()}>{t.reload}</Button>
      </EmptyState>
    </>
  )
}
