import { useRequestErrorText } from '@/api/errors'
import { useApiQuery } from '@/api/useApiQuery'
import { SalesChart } from '@/charts/SalesChart'
import { useLastDays } from '@/charts/useLastDays'
import { VisitsChart } from '@/charts/VisitsChart'
import { useFormat } from '@/i18n/format'
import { useLanguage } from '@/i18n/language'
import { texts } from '@/i18n/texts'
import { RequireRole } from '@/screens/merchant/RequireRole'
import { Screen } from '@/ui/Screen'
import { Skeleton } from '@/ui/Skeleton'
import { ErrorState } from '@/ui/State'

import { AdminFiguresDocument, AdminGaugesDocument, type AdminGaugesQuery } from './admin.gql'
import css from './Admin.module.css'
import { useInterval } from './useInterval'

const useTexts = texts(
  {
    title: 'Admin dashboard',
    asOf: (time: string) => `Updated ${time}, refreshes every 5 seconds`,
    visits: 'Site visits, last 30 days',
    visitsSummary: (today: string, views: string) =>
      `Visitors today: ${today}, total views: ${views}`,
    days: 'Daily figures',
    queues: 'Background jobs',
    queuesNote: 'Across all instances.',
    queue: 'Queue',
    lag: 'Waiting',
    pending: 'Retrying',
    oldest: 'Oldest',
    parked: 'Dead-lettered',
    seconds: (n: string) => `${n} s`,
    noQueues: 'No queues yet.',
    caches: 'Caches',
    cachesNote: 'For the instance that answered, since it started.',
    cache: 'Cache',
    hits: 'Hit rate',
    local: 'Memory',
    remote: 'Redis',
    misses: 'Misses',
    loads: 'Loads',
    loadErrors: 'Failed loads',
    stale: 'Stale',
    unused: (names: string) => `Not used yet: ${names}.`,
    comma: ', ',
    table: 'Show as table',
    share: (name: string, hit: string) => `${name}: ${hit} hit rate`,
    keys: 'Hot keys',
    keysNote: 'Estimates for the instance that answered.',
    noKeys: 'No hot keys right now.',
  },
  {
    title: '管理后台',
    asOf: (time) => `更新于 ${time}，每 5 秒刷新`,
    visits: '近 30 天全站访问',
    visitsSummary: (today, views) => `今日 ${today} 人访问，共浏览 ${views} 次`,
    days: '每日数据',
    queues: '后台任务',
    queuesNote: '所有实例合计。',
    queue: '队列',
    lag: '等待中',
    pending: '重试中',
    oldest: '最久等待',
    parked: '死信',
    seconds: (n) => `${n} 秒`,
    noQueues: '暂无队列。',
    caches: '缓存',
    cachesNote: '当前响应的实例自启动以来的数据。',
    cache: '缓存',
    hits: '命中率',
    local: '本地内存',
    remote: 'Redis',
    misses: '未命中',
    loads: '回源',
    loadErrors: '回源失败',
    stale: '返回过期数据',
    unused: (names) => `尚未使用：${names}。`,
    comma: '、',
    table: '以表格显示',
    share: (name, hit) => `${name}：命中率 ${hit}`,
    keys: '热点键',
    keysNote: '当前响应的实例的估计值。',
    noKeys: '暂无热点键。',
  },
)

const statusInterval = 5000 // ms
const figuresInterval = 60_000 // ms

/** System status and daily figures. */
export function Admin() {
  const t = useTexts()
  return (
    <Screen title={t.title} backTo="/me">
      <RequireRole role="ADMIN">
        <div className={css.all}>
          <Gauges />
          <Days />
        </div>
      </RequireRole>
    </Screen>
  )
}

function Gauges() {
  const t = useTexts()
  const errorText = useRequestErrorText()
  const language = useLanguage()
  const [{ data, error }, refetch] = useApiQuery({
    query: AdminGaugesDocument,
    variables: {},
    requestPolicy: 'network-only',
  })
  useInterval(statusInterval, () => refetch({ requestPolicy: 'network-only' }))

  const time = new Intl.DateTimeFormat(language === 'zh' ? 'zh-CN' : 'en-GB', {
    timeStyle: 'medium',
  })

  if (!data) {
    return error ? (
      <ErrorState error={error} onRetry={() => refetch({ requestPolicy: 'network-only' })} />
    ) : (
      <Skeleton shape="text" count={5} />
    )
  }
  return (
    <>
      <p className={css.asOf} data-as-of={data.serverTime}>
        {t.asOf(time.format(new Date(data.serverTime)))}
        {error && <strong> {errorText(error)}</strong>}
      </p>
      <div className={css.columns}>
        <Caches stats={data.cacheStats} />
        <div className={css.column}>
          <Queues stats={data.queueStats} />
          <Keys keys={data.hotKeys} />
        </div>
      </div>
    </>
  )
}

function Caches({ stats }: { stats: AdminGaugesQuery['cacheStats'] }) {
  const t = useTexts()
  const { percent, number } = useFormat()
  const lookups = (one: (typeof stats)[number]) => one.localHits + one.remoteHits + one.misses
  const sorted = [...stats].sort((a, b) => lookups(b) - lookups(a) || (a.name < b.name ? -1 : 1))
  const used = sorted.filter((one) => lookups(one) > 0)
  const unused = sorted.filter((one) => lookups(one) === 0).map(({ name }) => name)
  return (
    <section className={css.card} aria-labelledby="caches">
      <h2 id="caches">{t.caches}</h2>
      <p className={css.note}>{t.cachesNote}</p>
      <ul className={css.key} aria-hidden="true">
        <li>
          <i className={css.local} /> {t.local}
        </li>
        <li>
          <i className={css.remote} /> {t.remote}
        </li>
        <li>
          <i className={css.missed} /> {t.misses}
        </li>
      </ul>
      <ul className={css.caches}>
        {used.map((one) => {
          const width = (n: number) => ({ width: `${(n / lookups(one)) * 100}%` })
          return (
            <li key={one.name} data-cache={one.name} data-ratio={one.hitRatio}>
              <p>
                <span>{one.name}</span>
                <strong>{percent(one.hitRatio)}</strong>
              </p>
              <div
                className={css.bar}
                role="img"
                aria-label={t.share(one.name, percent(one.hitRatio))}
              >
                <span className={css.local} style={width(one.localHits)} />
                <span className={css.remote} style={width(one.remoteHits)} />
                <span className={css.missed} style={width(one.misses)} />
              </div>
            </li>
          )
        })}
      </ul>
      {unused.length > 0 && <p className={css.note}>{t.unused(unused.join(t.comma))}</p>}
      <details className={css.details}>
        <summary>{t.table}</summary>
        <div className={css.scroll} tabIndex={0} role="group" aria-label={t.caches}>
          <table>
            <caption className="visually-hidden">{t.caches}</caption>
            <thead>
              <tr>
                {[t.cache, t.hits, t.local, t.remote, t.misses, t.loads, t.loadErrors, t.stale].map(
                  (label) => (
                    <th key={label} scope="col">
                      {label}
                    </th>
                  ),
                )}
              </tr>
            </thead>
            <tbody>
              {sorted.map((one) => (
                <tr key={one.name}>
                  <th scope="row">{one.name}</th>
                  <td>{lookups(one) > 0 ? percent(one.hitRatio) : '–'}</td>
                  <td>{number(one.localHits)}</td>
                  <td>{number(one.remoteHits)}</td>
                  <td>{number(one.misses)}</td>
                  <td>{number(one.loads)}</td>
                  <td>{number(one.loadErrors)}</td>
                  <td>{number(one.staleServed)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </section>
  )
}

function Queues({ stats }: { stats: AdminGaugesQuery['queueStats'] }) {
  const t = useTexts()
  const { number } = useFormat()
  const sorted = [...stats].sort((a, b) => b.parked - a.parked || b.lag - a.lag)
  return (
    <section className={css.card} aria-labelledby="queues">
      <h2 id="queues">{t.queues}</h2>
      <p className={css.note}>{t.queuesNote}</p>
      {stats.length === 0 ? (
        <p>{t.noQueues}</p>
      ) : (
        <div className={css.scroll} tabIndex={0} role="group" aria-label={t.queues}>
          <table>
            <thead>
              <tr>
                {[t.queue, t.lag, t.pending, t.oldest, t.parked].map((label) => (
                  <th key={label} scope="col">
                    {label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {sorted.map(({ name, lag, pending, oldestSeconds, parked }) => (
                <tr key={name} data-queue={name} data-lag={lag} data-parked={parked}>
                  <th scope="row">{name}</th>
                  <td>{number(lag)}</td>
                  <td>{number(pending)}</td>
                  <td>{t.seconds(number(Math.round(oldestSeconds)))}</td>
                  <td className={parked > 0 ? css.bad : undefined}>{number(parked)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  )
}

function Keys({ keys }: { keys: AdminGaugesQuery['hotKeys'] }) {
  const t = useTexts()
  const { number } = useFormat()
  const max = Math.max(1, ...keys.map(({ hits }) => hits))
  return (
    <section className={css.card} aria-labelledby="keys">
      <h2 id="keys">{t.keys}</h2>
      <p className={css.note}>{t.keysNote}</p>
      {keys.length === 0 && <p>{t.noKeys}</p>}
      <ol className={css.keys}>
        {keys.map(({ key, hits }) => (
          <li key={key} data-key={key}>
            <span className={css.share} style={{ width: `${(hits / max) * 100}%` }} />
            <span className={css.name}>{key}</span>
            <span>{number(hits)}</span>
          </li>
        ))}
      </ol>
    </section>
  )
}

function Days() {
  const t = useTexts()
  const { number } = useFormat()
  const { range, error: noDay, refetch: refetchToday } = useLastDays(30)
  const [{ data, error = noDay }, refetch] = useApiQuery({
    query: AdminFiguresDocument,
    variables: { from: '', to: '', ...range },
    pause: range === null,
  })
  const reload = () => {
    refetchToday()
    if (range !== null) refetch({ requestPolicy: 'network-only' })
  }
  useInterval(figuresInterval, reload)
  if (!data) {
    return error ? (
      <ErrorState error={error} onRetry={reload} />
    ) : (
      <Skeleton shape="picture" count={2} />
    )
  }
  const { siteStats, salesByDay } = data
  const views = siteStats.reduce((all, day) => all + day.views, 0)
  return (
    <section className={css.days} aria-labelledby="days">
      <h2 id="days">{t.days}</h2>
      <div className={css.columns}>
        <VisitsChart
          title={t.visits}
          summary={t.visitsSummary(number(siteStats.at(-1)?.uniqueVisitors ?? 0), number(views))}
          days={siteStats}
        />
        <SalesChart days={salesByDay} />
      </div>
    </section>
  )
}
