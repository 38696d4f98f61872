import { ArrowUp } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { useClient } from 'urql'

import { useFailureText } from '@/api/errors'
import { useAsk } from '@/api/useAsk'
import { useEntryState } from '@/app/entries'
import { hidden, paged, shown } from '@/feed/feed'
import { FeedDocument, FeedNotesDocument, SuggestionsDocument } from '@/feed/feed.gql'
import { useFeed } from '@/feed/useFeed'
import { texts } from '@/i18n/texts'
import { NoteCard } from '@/notes/NoteCard'
import type { NoteCardFragment } from '@/notes/note-card.gql'
import { PersonRow } from '@/people/PersonRow'
import { useSession } from '@/session/session'
import { Button } from '@/ui/Button'
import { Pages } from '@/ui/Pages'
import { Screen } from '@/ui/Screen'
import { Skeleton } from '@/ui/Skeleton'
import { Empty } from '@/ui/State'
import { toast } from '@/ui/toast'

import css from './Feed.module.css'

const useTexts = texts(
  {
    title: 'Feed',
    notes: 'Notes by people you follow',
    news: (n: number) => (n === 1 ? '1 new note' : `${n} new notes`),
    alone: 'What people you follow write appears here, as soon as they do.',
    silent: 'The people you follow have not written anything yet.',
    people: 'People to follow',
  },
  {
    title: '关注',
    notes: '你关注的人的笔记',
    news: (n) => `${n} 篇新笔记`,
    alone: '关注感兴趣的人，他们的新笔记会第一时间出现在这里。',
    silent: '你关注的人还没有发布笔记。',
    people: '值得关注的人',
  },
)

const most = 50 // notes that are put on top; more are read as pages

/** What those write whom the viewer follows, as it happens. */
export function Feed() {
  const t = useTexts()
  const client = useClient()
  const failureText = useFailureText()
  const [feed, store] = useFeed()
  const [busy, setBusy] = useState(false)
  const [suggesting, setSuggesting] = useEntryState('suggesting', false)
  const [{ data, error: unread }, ask] = useAsk({
    query: FeedDocument,
    variables: { after: null },
    requestPolicy: 'cache-first',
    catchUp: false, // what was missed is told
  })

  const first = data?.me?.feed
  useEffect(() => {
    // When a page cannot be read anew, updates begin behind the one that shows.
    if (!first) return
    const { liveCursor, edges, pageInfo } = first
    const notes = edges.map(({ node: { id, createdAt, author } }) => ({
      id,
      createdAt,
      authorId: author.id,
    }))
    store.set(paged(store.get(), { liveCursor, notes, more: pageInfo.hasNextPage }))
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [first, unread, store])

  const { round } = feed
  const lastRound = useRef(round)
  useEffect(() => {
    if (lastRound.current === round) return
    lastRound.current = round
    ask({ requestPolicy: 'network-only' })
  }, [round, ask])

  // Whoever follows the first of those suggested may want to follow others too.
  const bare = first?.edges.length === 0
  useEffect(() => {
    if (bare && !suggesting) setSuggesting(true)
  }, [bare, suggesting, setSuggesting])

  const show = async () => {
    const ids = feed.waiting.map(({ id }) => id)
    setBusy(true)
    if (ids.length > most) {
      ask({ requestPolicy: 'network-only' })
    } else {
      const { error } = await client
        .query(FeedNotesDocument, { ids }, { requestPolicy: 'network-only' })
        .toPromise()
      if (error) {
        setBusy(false)
        toast(failureText(error))
        return
      }
      store.set(shown(store.get(), ids))
    }
    setBusy(false)
    window.scrollTo(0, 0)
    document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true })
  }

  const away = hidden(feed)
  const count = feed.waiting.length
  return (
    <Screen title={t.title}>
      <div className={css.news} role="status">
        {count > 0 && (
          <Button busy={busy} onClick={show}>
            <ArrowUp aria-hidden="true" size={18} />
            {t.news(count)}
          </Button>
        )}
      </div>
      <div className={css.columns} data-feed-ready={feed.ready || undefined}>
        {suggesting && <Suggestions />}
        <section className={css.notes} aria-labelledby="notes">
          <h2 id="notes" className="unseen">
            {t.notes}
          </h2>
          {feed.tops.map((ids) => (
            <Top key={ids[0]} ids={ids} removed={feed.removed} />
          ))}
          <Pages
            name="feed"
            document={FeedDocument}
            variables={{}}
            connection={({ me }) => me?.feed}
            className={css.list}
            loading={<Skeleton shape="card" count={2} />}
            empty={
              feed.tops.length > 0 ? null : (
                <Empty title={data?.me?.followeeCount === 0 ? t.alone : t.silent} />
              )
            }
            end
            catchUp={false}
          >
            {({ node }, i) => (away.has(node.id) ? null : <NoteCard note={node} eager={i === 0} />)}
          </Pages>
        </section>
      </div>
    </Screen>
  )
}

/** Notes that came while the feed was open and were put on top of it. */
function Top({ ids, removed }: { ids: readonly string[]; removed: ReadonlySet<string> }) {
  const [{ data }] = useAsk({
    query: FeedNotesDocument,
    variables: { ids },
    requestPolicy: 'cache-first',
    catchUp: false,
  })
  const notes = (data?.nodes ?? []).flatMap((node) =>
    node && 'title' in node && !removed.has(String(node.id)) ? [node as NoteCardFragment] : [],
  )
  if (notes.length === 0) return null
  return (
    <ul className={css.list}>
      {notes.map((note) => (
        <li key={note.id}>
          <NoteCard note={note} eager />
        </li>
      ))}
    </ul>
  )
}

const few = 6 // people that are suggested

/** Whom somebody could follow: those who wrote what people like now. */
function Suggestions() {
  const t = useTexts()
  const session = useSession()
  const [{ data }] = useAsk({
    query: SuggestionsDocument,
    variables: {},
    requestPolicy: 'cache-first',
    catchUp: false,
  })
  const authors = data?.hotNotes.edges.map(({ node }) => node.author) ?? []
  const people = [...new Map(authors.map((author) => [author.id, author])).values()]
    .filter(({ id }) => id !== session?.userId)
    .slice(0, few)
  if (people.length === 0) return null
  return (
    <section className={css.people} aria-labelledby="people">
      <h2 id="people">{t.people}</h2>
      <ul>
        {people.map((user) => (
          <li key={user.id}>
            <PersonRow user={user} />
          </li>
        ))}
      </ul>
    </section>
  )
}
