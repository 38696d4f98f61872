import { ArrowUp } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { useClient } from 'urql'

import { useRequestErrorText } from '@/api/errors'
import { useApiQuery } from '@/api/useApiQuery'
import { useEntryState } from '@/app/historyEntry'
import { hiddenIds, withPage, withShown } from '@/feed/feed'
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
import { EmptyState } from '@/ui/State'
import { toast } from '@/ui/toast'

import css from './Feed.module.css'

const useTexts = texts(
  {
    title: 'Feed',
    notes: 'Notes from people you follow',
    newNotes: (n: number) => (n === 1 ? '1 new note' : `${n} new notes`),
    noFollowees: 'Follow people to see their notes here.',
    noNotes: 'The people you follow haven’t posted any notes yet.',
    people: 'People to follow',
  },
  {
    title: '关注',
    notes: '你关注的人的笔记',
    newNotes: (n) => `${n} 篇新笔记`,
    noFollowees: '关注感兴趣的人，在这里查看他们的新笔记。',
    noNotes: '你关注的人还没有发布笔记。',
    people: '推荐关注',
  },
)

const maxPrepended = 50 // above this number, pages are refetched instead

/** Notes by followed users, live. */
export function Feed() {
  const t = useTexts()
  const client = useClient()
  const requestErrorText = useRequestErrorText()
  const [feed, store] = useFeed()
  const [busy, setBusy] = useState(false)
  const [suggesting, setSuggesting] = useEntryState('suggesting', false)
  const [{ data, error: loadError }, refetch] = useApiQuery({
    query: FeedDocument,
    variables: { after: null },
    requestPolicy: 'cache-first',
    refetchOnResume: false, // updates deliver missed notes
  })

  const first = data?.me?.feed
  useEffect(() => {
    // If a page fails to load, updates continue behind the shown one.
    if (!first) return
    const { liveCursor, edges, pageInfo } = first
    const notes = edges.map(({ node: { id, createdAt, author } }) => ({
      id,
      createdAt,
      authorId: author.id,
    }))
    store.set(withPage(store.get(), { liveCursor, notes, more: pageInfo.hasNextPage }))
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [first, loadError, store])

  const { generation } = feed
  const lastGeneration = useRef(generation)
  useEffect(() => {
    if (lastGeneration.current === generation) return
    lastGeneration.current = generation
    refetch({ requestPolicy: 'network-only' })
  }, [generation, refetch])

  // Keep suggestions after the first follow: the user may want to follow more people.
  const isEmpty = first?.edges.length === 0
  useEffect(() => {
    if (isEmpty && !suggesting) setSuggesting(true)
  }, [isEmpty, suggesting, setSuggesting])

  const show = async () => {
    const ids = feed.waiting.map(({ id }) => id)
    setBusy(true)
    if (ids.length > maxPrepended) {
      refetch({ requestPolicy: 'network-only' })
    } else {
      const { error } = await client
        .query(FeedNotesDocument, { ids }, { requestPolicy: 'network-only' })
        .toPromise()
      if (error) {
        setBusy(false)
        toast(requestErrorText(error))
        return
      }
      store.set(withShown(store.get(), ids))
    }
    setBusy(false)
    window.scrollTo(0, 0)
    document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true })
  }

  const hiddenNotes = hiddenIds(feed)
  const count = feed.waiting.length
  return (
    <Screen title={t.title}>
      <div className={css.newNotes} role="status">
        {count > 0 && (
          <Button busy={busy} onClick={show}>
            <ArrowUp aria-hidden="true" size={18} />
            {t.newNotes(count)}
          </Button>
        )}
      </div>
      <div className={css.columns} data-feed-ready={feed.ready || undefined}>
        {suggesting && <Suggestions />}
        <section className={css.notes} aria-labelledby="notes">
          <h2 id="notes" className="visually-hidden">
            {t.notes}
          </h2>
          {feed.prepended.map((ids) => (
            <PrependedNotes key={ids[0]} ids={ids} removed={feed.removed} />
          ))}
          <Pages
            name="feed"
            document={FeedDocument}
            variables={{}}
            connection={({ me }) => me?.feed}
            className={css.list}
            loading={<Skeleton shape="card" count={2} />}
            empty={
              feed.prepended.length > 0 ? null : (
                <EmptyState title={data?.me?.followeeCount === 0 ? t.noFollowees : t.noNotes} />
              )
            }
            showEnd
            refetchOnResume={false}
          >
            {({ node }, i) =>
              hiddenNotes.has(node.id) ? null : <NoteCard note={node} eager={i === 0} />
            }
          </Pages>
        </section>
      </div>
    </Screen>
  )
}

/** Notes that arrived while the feed was open. */
function PrependedNotes({
  ids,
  removed,
}: {
  ids: readonly string[]
  removed: ReadonlySet<string>
}) {
  const [{ data }] = useApiQuery({
    query: FeedNotesDocument,
    variables: { ids },
    requestPolicy: 'cache-first',
    refetchOnResume: false,
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

const maxSuggestions = 6 // suggested users

/** Suggests authors of popular notes. */
function Suggestions() {
  const t = useTexts()
  const session = useSession()
  const [{ data }] = useApiQuery({
    query: SuggestionsDocument,
    variables: {},
    requestPolicy: 'cache-first',
    refetchOnResume: false,
  })
  const authors = data?.hotNotes.edges.map(({ node }) => node.author) ?? []
  const people = [...new Map(authors.map((author) => [author.id, author])).values()]
    .filter(({ id }) => id !== session?.userId)
    .slice(0, maxSuggestions)
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
