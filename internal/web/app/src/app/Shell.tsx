import { House, Newspaper, ReceiptText, SquarePen, Store, User } from 'lucide-react'
import { useEffect, useState, type ReactNode } from 'react'
import { Link, useLocation } from 'wouter'

import { texts } from '@/i18n/texts'
import { useNetwork } from '@/live/network'
import { useUnreadNotes } from '@/feed/unreadNotes'
import { Toasts } from '@/ui/toast'

import css from './Shell.module.css'

const useTexts = texts(
  {
    skip: 'Skip to content',
    main: 'Main',
    home: 'Discover',
    feed: 'Feed',
    publish: 'Write',
    orders: 'Orders',
    me: 'Me',
    newNotes: (n: number) => (n === 1 ? '1 new note' : `${n} new notes`),
    offline: 'You’re offline. Content may be out of date.',
    unreachable: 'Can’t reach Tandian. Retrying…',
  },
  {
    skip: '跳到主要内容',
    main: '主导航',
    home: '发现',
    feed: '关注',
    publish: '发布',
    orders: '订单',
    me: '我的',
    newNotes: (n) => `${n} 篇新笔记`,
    offline: '网络已断开，内容可能不是最新的。',
    unreachable: '无法连接服务器，正在重试…',
  },
)

/** The frame of all screens: tabs, network banner and toasts. */
export function Shell({ children }: { children: ReactNode }) {
  const t = useTexts()
  const [path] = useLocation()
  const unread = useUnreadNotes()
  const tabs = [
    { to: '/', label: t.home, icon: House },
    { to: '/feed', label: t.feed, icon: Newspaper, count: unread },
    { to: '/publish', label: t.publish, icon: SquarePen },
    { to: '/orders', label: t.orders, icon: ReceiptText },
    { to: '/me', label: t.me, icon: User },
  ]
  return (
    <>
      <a
        href="#content"
        className={css.skip}
        onClick={(event) => {
          event.preventDefault()
          document.querySelector('main')?.focus()
        }}
      >
        {t.skip}
      </a>
      <nav className={css.tabs} aria-label={t.main}>
        <Link href="/" className={css.brand} aria-hidden="true" tabIndex={-1}>
          <Store aria-hidden="true" /> Tandian 探店
        </Link>
        <ul>
          {tabs.map(({ to, label, icon: Icon, count = 0 }) => (
            <li key={to}>
              <Link href={to} aria-current={isUnder(path, to) ? 'page' : undefined}>
                <Icon aria-hidden="true" size={24} />
                <span>{label}</span>
                {count > 0 && (
                  <>
                    <span className={css.count} aria-hidden="true">
                      {count > 99 ? '99+' : count}
                    </span>
                    <span className="visually-hidden">, {t.newNotes(count)}</span>
                  </>
                )}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <NetworkBanner offline={t.offline} unreachable={t.unreachable} />
      <main id="content" className={css.main} tabIndex={-1}>
        {children}
      </main>
      <Toasts />
    </>
  )
}

const bannerDelay = 800 // ms; hides short restarts of the server

function NetworkBanner({ offline, unreachable }: { offline: string; unreachable: string }) {
  const network = useNetwork()
  const [late, setLate] = useState(false)
  useEffect(() => {
    if (network !== 'unreachable') return undefined
    const timer = setTimeout(() => setLate(true), bannerDelay)
    return () => {
      clearTimeout(timer)
      setLate(false)
    }
  }, [network])
  return (
    <div className={css.banner} role="status">
      {network === 'offline' && <p>{offline}</p>}
      {network === 'unreachable' && late && <p>{unreachable}</p>}
    </div>
  )
}

function isUnder(path: string, tab: string): boolean {
  return tab === '/' ? path === '/' : path === tab || path.startsWith(`${tab}/`)
}
