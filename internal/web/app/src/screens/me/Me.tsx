import {
  BadgeCheck,
  Bookmark,
  ChartColumn,
  ChevronRight,
  Clock,
  LogOut,
  NotebookPen,
  ReceiptText,
  ScanLine,
  Settings,
  Store,
  Ticket,
  Undo2,
  UserPen,
  type LucideIcon,
} from 'lucide-react'
import { useEffect, type ReactNode } from 'react'
import { Link, useLocation } from 'wouter'

import { useApiQuery } from '@/api/useApiQuery'
import { useApiMutation } from '@/api/useApiMutation'
import { useFormat } from '@/i18n/format'
import { setLanguage, useLanguage } from '@/i18n/language'
import { texts } from '@/i18n/texts'
import { end, expire, useSession } from '@/session/session'
import { Avatar } from '@/ui/Avatar'
import { Button } from '@/ui/Button'
import { Screen } from '@/ui/Screen'
import { Skeleton } from '@/ui/Skeleton'
import { ErrorState } from '@/ui/State'
import { toast } from '@/ui/toast'

import { CheckIn } from './CheckIn'
import { progressToNextLevel } from './levels'
import { LogoutDocument, MeDocument, type MeQuery } from './me.gql'
import css from './Me.module.css'

const useTexts = texts(
  {
    title: 'Me',
    level: (n: number) => `Level ${n}`,
    points: (n: string) => (n === '1' ? '1 point' : `${n} points`),
    more: (n: string, level: number) =>
      `${n === '1' ? '1 point' : `${n} points`} to level ${level}`,
    highest: 'Highest level',
    notes: 'Notes',
    followers: 'Followers',
    followees: 'Following',
    orders: 'My orders',
    all: 'See all',
    UNPAID: 'Unpaid',
    PAID: 'Ready to use',
    USED: 'Used',
    CLOSED: 'Closed',
    rest: 'More',
    edit: 'Edit profile',
    mine: 'My notes',
    saved: 'Saved',
    settings: 'Settings',
    merchant: 'My shops',
    redeem: 'Redeem voucher',
    admin: 'Admin dashboard',
    MERCHANT: 'Merchant',
    ADMIN: 'Admin',
    CUSTOMER: '',
    language: 'Language',
    signOut: 'Sign out',
    signedOutOffline:
      'Signed out on this device. We couldn’t reach the server, so the session will expire on its own.',
  },
  {
    title: '我的',
    level: (n) => `Lv.${n}`,
    points: (n) => `${n} 积分`,
    more: (n, level) => `再得 ${n} 积分升至 Lv.${level}`,
    highest: '已是最高等级',
    notes: '笔记',
    followers: '粉丝',
    followees: '关注',
    orders: '我的订单',
    all: '查看全部',
    UNPAID: '待付款',
    PAID: '待使用',
    USED: '已使用',
    CLOSED: '已关闭',
    rest: '更多',
    edit: '编辑资料',
    mine: '我的笔记',
    saved: '我的收藏',
    settings: '设置',
    merchant: '我的店铺',
    redeem: '核销代金券',
    admin: '管理后台',
    MERCHANT: '商家',
    ADMIN: '管理员',
    CUSTOMER: '',
    language: '语言',
    signOut: '退出登录',
    signedOutOffline: '本机已退出登录。未能连接服务器，登录状态将自动失效。',
  },
)

/** The viewer's account: level, check-ins, orders and links. */
export function Me() {
  const t = useTexts()
  const session = useSession()
  const [{ data, error }, refetch] = useApiQuery({ query: MeDocument, variables: {} })

  // The server no longer knows the session.
  const expired = data !== undefined && data.me === null
  const token = session?.token
  useEffect(() => {
    if (expired && token !== undefined) expire(token)
  }, [expired, token])

  return (
    <Screen title={t.title} action={<LanguageSwitch />}>
      {data?.me ? (
        <div className={css.columns}>
          <div className={css.column}>
            <Person me={data.me} />
            <Orders />
          </div>
          <div className={css.column}>
            <CheckIn />
            <Links me={data.me} />
          </div>
        </div>
      ) : error ? (
        <ErrorState error={error} onRetry={() => refetch({ requestPolicy: 'network-only' })} />
      ) : (
        <Skeleton shape="row" count={4} />
      )}
    </Screen>
  )
}

type Person = NonNullable<MeQuery['me']>

function Person({ me }: { me: Person }) {
  const t = useTexts()
  const { number } = useFormat()
  const next = progressToNextLevel(me.level, me.points)
  const counts = [
    { to: `/users/${me.id}`, label: t.notes, count: me.noteCount },
    { to: `/users/${me.id}/followers`, label: t.followers, count: me.followerCount },
    { to: `/users/${me.id}/followees`, label: t.followees, count: me.followeeCount },
  ]
  return (
    <section className={css.person} aria-label={me.nickname}>
      <div className={css.identity}>
        <Avatar user={me} size={76} />
        <div className={css.names}>
          <h2 dir="auto">{me.nickname}</h2>
          {me.phone !== null && <p className={css.quiet}>{me.phone}</p>}
          {me.role !== null && me.role !== 'CUSTOMER' && (
            <p className={css.role} data-role={me.role}>
              <BadgeCheck aria-hidden="true" size={16} /> {t[me.role]}
            </p>
          )}
        </div>
      </div>
      <div className={css.level} data-level={me.level} data-points={me.points}>
        <p>
          <strong>{t.level(me.level)}</strong> <span>{t.points(number(me.points))}</span>
        </p>
        {next && (
          <progress
            className={css.progress}
            aria-label={t.level(me.level + 1)}
            max={next.all}
            value={next.done}
          />
        )}
        <p className={css.quiet}>
          {next ? t.more(number(next.all - next.done), me.level + 1) : t.highest}
        </p>
      </div>
      <ul className={css.counts}>
        {counts.map(({ to, label, count }) => (
          <li key={to}>
            <Link href={to}>
              <strong>{number(count)}</strong> <span>{label}</span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  )
}

function Orders() {
  const t = useTexts()
  const shortcuts = [
    { status: 'pay', label: t.UNPAID, icon: Clock },
    { status: 'paid', label: t.PAID, icon: Ticket },
    { status: 'used', label: t.USED, icon: ReceiptText },
    { status: 'over', label: t.CLOSED, icon: Undo2 },
  ]
  return (
    <section className={css.card} aria-labelledby="my-orders">
      <div className={css.heading}>
        <h2 id="my-orders">{t.orders}</h2>
        <Link href="/orders" className={css.all}>
          {t.all}
        </Link>
      </div>
      <ul className={css.shortcuts}>
        {shortcuts.map(({ status, label, icon: Icon }) => (
          <li key={status}>
            <Link href={`/orders?status=${status}`}>
              <Icon aria-hidden="true" size={26} strokeWidth={1.75} />
              {label}
            </Link>
          </li>
        ))}
      </ul>
    </section>
  )
}

function Links({ me }: { me: Person }) {
  const t = useTexts()
  const [logout, leaving] = useApiMutation(LogoutDocument, { toastErrors: false })
  const [, navigate] = useLocation()
  const merchant = me.role !== null && me.role !== 'CUSTOMER'
  const leave = async () => {
    const result = await logout({})
    if (!result.ok) toast(t.signedOutOffline)
    navigate('/') // works without a network
    end()
  }
  return (
    <nav className={css.links} aria-label={t.rest}>
      <ul>
        {merchant && (
          <>
            <MenuLink to="/merchant" icon={Store}>
              {t.merchant}
            </MenuLink>
            <MenuLink to="/merchant/redeem" icon={ScanLine}>
              {t.redeem}
            </MenuLink>
          </>
        )}
        {me.role === 'ADMIN' && (
          <MenuLink to="/admin" icon={ChartColumn}>
            {t.admin}
          </MenuLink>
        )}
        <MenuLink to="/saved" icon={Bookmark}>
          {t.saved}
        </MenuLink>
        <MenuLink to="/me/edit" icon={UserPen}>
          {t.edit}
        </MenuLink>
        <MenuLink to={`/users/${me.id}`} icon={NotebookPen}>
          {t.mine}
        </MenuLink>
        <MenuLink to="/settings" icon={Settings}>
          {t.settings}
        </MenuLink>
      </ul>
      <Button kind="quiet" wide busy={leaving} onClick={() => void leave()}>
        <LogOut aria-hidden="true" size={18} /> {t.signOut}
      </Button>
    </nav>
  )
}

function MenuLink({
  to,
  icon: Icon,
  children,
}: {
  to: string
  icon: LucideIcon
  children: ReactNode
}) {
  return (
    <li>
      <Link href={to} className={css.menuLink}>
        <Icon aria-hidden="true" size={22} strokeWidth={1.75} />
        <span>{children}</span>
        <ChevronRight aria-hidden="true" size={20} />
      </Link>
    </li>
  )
}

/** Switches between Chinese and English. */
function LanguageSwitch() {
  const t = useTexts()
  const language = useLanguage()
  return (
    <div className={css.languages} role="group" aria-label={t.language}>
      <button
        type="button"
        lang="zh-CN"
        aria-pressed={language === 'zh'}
        onClick={() => setLanguage('zh')}
      >
        中文
      </button>
      <button
        type="button"
        lang="en"
        aria-pressed={language === 'en'}
        onClick={() => setLanguage('en')}
      >
        English
      </button>
    </div>
  )
}
