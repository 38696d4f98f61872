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

interface Props {
  readonly children: ReactNode
  /** Shown instead of what failed; by default what one can do. */
  readonly instead?: ReactNode
}

/** Keeps the failure of what is in it from the rest of the page. */
export class ErrorBoundary extends Component<Props, { failed: boolean }> {
  override state = { failed: false }

  static getDerivedStateFromError() {
    return { failed: true }
  }

  override render() {
    const { children, instead = <Broken /> } = this.props
    return this.state.failed ? instead : children
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
