import type { ReactNode } from 'react'

import type { Role } from '@/api/types.gql'
import { useAsk } from '@/api/useAsk'
import { texts } from '@/i18n/texts'
import { ButtonLink } from '@/ui/Button'
import { Skeleton } from '@/ui/Skeleton'
import { Empty, Failed } from '@/ui/State'

import { MyRoleDocument } from './merchant.gql'

const useTexts = texts(
  {
    merchants: 'This is for merchants.',
    admins: 'This is for those who run the site.',
    home: 'Discover shops',
  },
  { merchants: '此页面仅供商家使用。', admins: '此页面仅供管理员使用。', home: '去逛逛' },
)

const ranks: Record<Role, number> = { CUSTOMER: 0, MERCHANT: 1, ADMIN: 2 }

/** Shows its children to who has a role, and a friendly word to anybody else. The server decides anyway. */
export function ForRole({
  role,
  children,
}: {
  role: Exclude<Role, 'CUSTOMER'>
  children: ReactNode
}) {
  const t = useTexts()
  const [{ data, error }, ask] = useAsk({
    query: MyRoleDocument,
    variables: {},
    requestPolicy: 'cache-first',
  })
  if (!data) {
    return error ? (
      <Failed error={error} again={() => ask({ requestPolicy: 'network-only' })} />
    ) : (
      <Skeleton shape="text" count={2} />
    )
  }
  if (ranks[data.me?.role ?? 'CUSTOMER'] >= ranks[role]) return children
  return (
    <div data-refused={role}>
      <Empty title={role === 'MERCHANT' ? t.merchants : t.admins}>
        <ButtonLink kind="quiet" href="/">
          {t.home}
        </ButtonLink>
      </Empty>
    </div>
  )
}
