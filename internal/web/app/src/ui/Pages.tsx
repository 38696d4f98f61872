import { useEffect, useRef, useState, type ReactNode } from 'react'
import type { RequestPolicy, TypedDocumentNode } from 'urql'

import { cameBack, useEntryState } from '@/app/entries'
import { useAsk } from '@/api/useAsk'
import { texts } from '@/i18n/texts'

import { Button } from './Button'
import css from './Pages.module.css'
import { Failed } from './State'

const useTexts = texts(
  { more: 'Show more', end: 'That is all.' },
  { more: '加载更多', end: '没有更多了' },
)

/** A page of a list, as the API has them. */
export interface Connection<Edge> {
  readonly edges: readonly Edge[]
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
}

interface PagesProps<Data, Variables extends object, Edge> {
  /** Names the list among those of the screen. */
  readonly name: string
  readonly document: TypedDocumentNode<Data, Variables>
  /** Those of the first page; `after` is put in for the others. */
  readonly variables: Variables
  readonly connection: (data: Data) => Connection<Edge> | null | undefined
  /** What an item shows; null leaves it out. */
  readonly children: (edge: Edge, index: number) => ReactNode
  /** Shown while the first page loads, and while another does. */
  readonly loading: ReactNode
  /** Shown instead of a list without anything in it. */
  readonly empty: ReactNode
  /** Of the list. */
  readonly className?: string | undefined
  /** Say so at its end. */
  readonly end?: boolean
  /** Ask again after a time without a network or in the background; by default yes. */
  readonly catchUp?: boolean
  /** It changes behind the cache: ask again also for who comes back. */
  readonly fresh?: boolean
}

/**
 * A list that goes on when its end comes into sight. Each page begins where the one before ends, so
 * that nothing is missed or repeated when the first one has become another; as many pages as there
 * were are there again for who comes back.
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
  /** What the pages above show: of two moments, they may have something in common. */
  readonly above: ReadonlySet<string>
}

function Page<Data, Variables extends object, Edge extends Item>(
  props: PageProps<Data, Variables, Edge>,
) {
  const { document, variables, connection, children, after, index, count, setCount, above } = props
  const t = useTexts()
  // Who comes back finds the list as it was, and at the same height.
  const [requestPolicy] = useState<RequestPolicy>(() =>
    cameBack() && !props.fresh ? 'cache-first' : 'cache-and-network',
  )
  const [{ data, error, stale }, ask] = useAsk<Data, Variables>({
    query: document,
    variables: { ...variables, after },
    requestPolicy,
    catchUp: props.catchUp ?? true,
  })

  const first = index === 0
  const page = data === undefined ? undefined : connection(data)
  if (!page) {
    const shown = error ? (
      <Failed error={error} again={() => ask({ requestPolicy: 'network-only' })} />
    ) : (
      props.loading
    )
    return first ? shown : <li>{shown}</li>
  }
  if (first && page.edges.length === 0) return stale ? props.loading : props.empty

  const edges = page.edges.filter(({ node }) => !above.has(node.id))
  const ids = new Set([...above, ...edges.map(({ node }) => node.id)])
  const { hasNextPage, endCursor } = page.pageInfo
  let next: ReactNode = props.end && !first ? <li className={css.end}>{t.end}</li> : null
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

/** Goes on when it comes near, and is a button for those who do not scroll. */
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
