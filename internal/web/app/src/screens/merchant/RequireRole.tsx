import type { ReactNode } from 'react'

import type { Role } from '@/api/types.gql'
import { useApiQuery } from '@/api/useApiQuery'
import { texts } from '@/i18n/texts'
import { ButtonLink } from '@/ui/Button'
import { Skeleton } from '@/ui/Skeleton'
import { EmptyState, ErrorState } from '@/ui/State'

import { MyRoleDocument } from './merchant.gql'

const useTexts = texts(
  {
    merchants: 'This page is for merchants only.',
    admins: 'This page is for admins only.',
    home: 'Discover shops',
  },
  { merchants: '此页面仅供商家使用。', admins: '此页面仅供管理员使用。', home: '去逛逛' },
)

const ranks: Record<Role, number> = { CUSTOMER: 0, MERCHANT: 1, ADMIN: 2 }

/**
 * Shows its children to users with the role, and a message to others. The server enforces roles
 * too.
 */
export function RequireRole({
  role,
  children,
}: {
  role: Exclude<Role, 'CUSTOMER'>
  children: ReactNode
}) {
  const t = useTexts()
  const [{ data, error }, refetch] = useApiQuery({
    query: MyRoleDocument,
    variables: {},
    requestPolicy: 'cache-first',
  })
  if (!data) {
    return error ? (
      <ErrorState error={error} onRetry={() => refetch({ requestPolicy: 'network-only' })} />
    ) : (
      <Skeleton shape="text" count={2} />
    )
  }
  if (ranks[data.me?.role ?? 'CUSTOMER'] >= ranks[role]) return children
  return (
    <div data-refused={role}>
      <EmptyState title={role === 'MERCHANT' ? t.merchants : t.admins}>
        <ButtonLink kind="quiet" href="/">
          {t.home}
        </ButtonLink>
      </EmptyState>
    </div>
  )
}
