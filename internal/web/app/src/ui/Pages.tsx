import { useEffect, useRef, useState, type ReactNode } from 'react'
import type { RequestPolicy, TypedDocumentNode } from 'urql'

import { isReturning, useEntryState } from '@/app/historyEntry'
import { useApiQuery } from '@/api/useApiQuery'
import { texts } from '@/i18n/texts'

import { Button } from './Button'
import css from './Pages.module.css'
import { ErrorState } from './State'

const useTexts = texts(
  { more: 'Show more', end: 'You’re all caught up.' },
  { more: '加载更多', end: '没有更多了。' },
)

/** A page of a connection. */
export interface Connection<Edge> {
  readonly edges: readonly Edge[]
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
}

interface PagesProps<Data, Variables extends object, Edge> {
  /** Identifies the list on its screen. */
  readonly name: string
  readonly document: TypedDocumentNode<Data, Variables>
  /** Variables of the first page; `after` is added for later ones. */
  readonly variables: Variables
  readonly connection: (data: Data) => Connection<Edge> | null | undefined
  /** Renders an item; null skips it. */
  readonly children: (edge: Edge, index: number) => ReactNode
  /** Shown while a page loads. */
  readonly loading: ReactNode
  /** Shown if the list is empty. */
  readonly empty: ReactNode
  /** Of the list. */
  readonly className?: string | undefined
  /** Show a message at the end. */
  readonly showEnd?: boolean
  /** Refetch after reconnecting and when the page becomes visible. Default: true. */
  readonly refetchOnResume?: boolean
  /** The list changes outside of the cache: refetch when the user returns. */
  readonly alwaysRefetch?: boolean
}

/**
 * An infinite list. Each page starts at the previous page's end cursor, so changes of the first
 * page cause no gaps or duplicates. The number of pages is restored when the user returns.
 */
export function Pages<Data, Variables extends object, Edge extends Item>(
  props: PagesProps<Data, Variables, Edge>,
) {
  const [count, setCount] = useEntryState(`pages:${props.name}`, 1)
  return (
    <Page {...props} after={null} index={0} count={count} setCount={setCount} above={nothing} />
  )
}

const nothing: ReadonlySet<string> = new Set()

interface Item {
  readonly node: { readonly id: string }
}

interface PageProps<Data, Variables extends object, Edge> extends PagesProps<
  Data,
  Variables,
  Edge
> {
  readonly after: string | null
  readonly index: number
  readonly count: number
  readonly setCount: (count: number) => void
  /** Ids shown on earlier pages. Pages of different snapshots can overlap. */
  readonly above: ReadonlySet<string>
}

function Page<Data, Variables extends object, Edge extends Item>(
  props: PageProps<Data, Variables, Edge>,
) {
  const { document, variables, connection, children, after, index, count, setCount, above } = props
  const t = useTexts()
  // Restores the list and its height when the user returns.
  const [requestPolicy] = useState<RequestPolicy>(() =>
    isReturning() && !props.alwaysRefetch ? 'cache-first' : 'cache-and-network',
  )
  const [{ data, error, stale }, refetch] = useApiQuery<Data, Variables>({
    query: document,
    variables: { ...variables, after },
    requestPolicy,
    refetchOnResume: props.refetchOnResume ?? true,
  })

  const first = index === 0
  const page = data === undefined ? undefined : connection(data)
  if (!page) {
    const shown = error ? (
      <ErrorState error={error} onRetry={() => refetch({ requestPolicy: 'network-only' })} />
    ) : (
      props.loading
    )
    return first ? shown : <li>{shown}</li>
  }
  if (first && page.edges.length === 0) return stale ? props.loading : props.empty

  const edges = page.edges.filter(({ node }) => !above.has(node.id))
  const ids = new Set([...above, ...edges.map(({ node }) => node.id)])
  const { hasNextPage, endCursor } = page.pageInfo
  let next: ReactNode = props.showEnd && !first ? <li className={css.end}>{t.end}</li> : null
  if (hasNextPage && endCursor !== null) {
    next =
      index + 1 < count ? (
        <Page {...props} after={endCursor} index={index + 1} above={ids} />
      ) : (
        <More label={t.more} go={() => setCount(index + 2)} />
      )
  }
  const items = (
    <>
      {edges.map((edge, i) => {
        const shown = children(edge, i)
        return shown === null ? null : <li key={edge.node.id}>{shown}</li>
      })}
      {next}
    </>
  )
  return first ? <ul className={props.className}>{items}</ul> : items
}

/** Loads the next page when it comes near; also a button. */
function More({ label, go }: { label: string; go: () => void }) {
  const ref = useRef<HTMLLIElement>(null)
  useEffect(() => {
    const here = ref.current
    if (!here) return undefined
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) go()
      },
      { rootMargin: '600px' },
    )
    observer.observe(here)
    return () => observer.disconnect()
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [])
  return (
    <li ref={ref} className={css.end}>
      <Button kind="quiet" wide onClick={go}>
        {label}
      </Button>
    </li>
  )
}
