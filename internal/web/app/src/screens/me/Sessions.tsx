import { useApiQuery } from '@/api/useApiQuery'
import { useApiMutation } from '@/api/useApiMutation'
import { useFormat } from '@/i18n/format'
import { isolate } from '@/i18n/isolate'
import { texts } from '@/i18n/texts'
import { Button } from '@/ui/Button'
import { Skeleton } from '@/ui/Skeleton'
import { ErrorState } from '@/ui/State'
import { toast } from '@/ui/toast'

import css from './EditMe.module.css'
import { EndOtherSessionsDocument, EndSessionDocument, MySessionsDocument } from './sessions.gql'

const useTexts = texts(
  {
    sessions: 'Signed-in devices',
    unknown: 'Unknown device',
    here: 'This device',
    used: (when: string) => `Last used ${when}`,
    end: 'Sign out',
    endNamed: (device: string) => `Sign out ${device}`,
    endOthers: 'Sign out all other devices',
    ended: 'Signed out.',
  },
  {
    sessions: '已登录的设备',
    unknown: '未知设备',
    here: '本设备',
    used: (when) => `最近使用：${when}`,
    end: '退出登录',
    endNamed: (device) => `退出 ${device} 的登录`,
    endOthers: '退出其他所有设备',
    ended: '已退出登录。',
  },
)

/** The viewer's sessions, with buttons to end the others. */
export function Sessions() {
  const t = useTexts()
  const { ago } = useFormat()
  const [{ data, error }, refetch] = useApiQuery({
    query: MySessionsDocument,
    variables: {},
    requestPolicy: 'cache-and-network',
  })
  const [end, ending] = useApiMutation(EndSessionDocument)
  const [endOthers, endingOthers] = useApiMutation(EndOtherSessionsDocument)
  const sessions = data?.me?.sessions
  const endOne = async (id: string) => {
    if ((await end({ id })).ok) toast(t.ended)
    else refetch({ requestPolicy: 'network-only' })
  }
  const endAll = async () => {
    if ((await endOthers({})).ok) toast(t.ended)
  }

  return (
    <section className={css.password} aria-labelledby="sessions">
      <h2 id="sessions">{t.sessions}</h2>
      {sessions ? (
        <>
          <ul className={css.sessions}>
            {sessions.map(({ id, device, isCurrent, lastUsedAt }) => (
              <li key={id} className={css.session}>
                <div>
                  <p>{isolate(device ?? t.unknown)}</p>
                  <p className={css.why}>{isCurrent ? t.here : t.used(ago(lastUsedAt))}</p>
                </div>
                {!isCurrent && (
                  <Button
                    kind="plain"
                    small
                    busy={ending}
                    aria-label={t.endNamed(device ?? t.unknown)}
                    onClick={() => void endOne(id)}
                  >
                    {t.end}
                  </Button>
                )}
              </li>
            ))}
          </ul>
          {sessions.length > 1 && (
            <Button kind="quiet" wide busy={endingOthers} onClick={() => void endAll()}>
              {t.endOthers}
            </Button>
          )}
        </>
      ) : error ? (
        <ErrorState error={error} onRetry={() => refetch({ requestPolicy: 'network-only' })} />
      ) : (
        <Skeleton shape="text" count={2} />
      )}
    </section>
  )
}
