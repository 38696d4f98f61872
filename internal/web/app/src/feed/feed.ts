// What the feed shows and what waits, as pages are read and updates come. Nothing here knows of
// React or of the network.
//
// Pages are read newest first; the one that was read without a cursor shows a moment, and updates
// tell what happens behind it. Both overlap: a page that is read after a note was told has it too.

/** A note that an update told. */
export interface Told {
  readonly id: string
  readonly createdAt: string
  readonly authorId: string
}

/** The first page, as it was read. */
export interface FirstPage {
  /** The moment that it shows. */
  readonly liveCursor: string
  /** Newest first. */
  readonly notes: readonly Told[]
  /** There are pages behind it. */
  readonly more: boolean
}

export type Update =
  | { readonly kind: 'added'; readonly note: Told }
  | { readonly kind: 'removed'; readonly noteId: string }
  | { readonly kind: 'ready' }
  | { readonly kind: 'resync' }

export interface Feed {
  /** Where the updates begin; null as long as nobody has said. */
  readonly start: string | null
  /** What was missed before has come. */
  readonly ready: boolean
  /** The first page that shows. */
  readonly page: FirstPage | null
  /** Notes that are told and not shown, newest first. */
  readonly waiting: readonly Told[]
  /** Notes that were put on top of the first page, the last ones first; ids, newest first. */
  readonly tops: readonly (readonly string[])[]
  /** The notes of `tops`. */
  readonly topped: readonly Told[]
  /** Notes that are gone. */
  readonly removed: ReadonlySet<string>
  /** Counts how often all was to be read anew. */
  readonly round: number
}

export const nothing: Feed = {
  start: null,
  ready: false,
  page: null,
  waiting: [],
  tops: [],
  topped: [],
  removed: new Set(),
  round: 0,
}

/** The updates begin behind a moment. */
export function begun(feed: Feed, start: string): Feed {
  return start === feed.start ? feed : { ...feed, start, ready: false }
}

/** The first page was read. */
export function paged(feed: Feed, page: FirstPage): Feed {
  // The updates begin behind the first page that was read, and go on behind all that are read later.
  const at = feed.page === null ? begun(feed, page.liveCursor) : feed
  const waiting = feed.waiting.filter((note) => !covers(page, note))
  if (page.liveCursor === feed.page?.liveCursor) return { ...at, page, waiting }
  // One of another moment has what was put on top, but for what came while it was on its way.
  return { ...at, page, waiting, ...onTop(feed, (note) => !covers(page, note)) }
}

/** The viewer does not follow an author any more. Of what was told, nothing says so. */
export function unfollowed(feed: Feed, authorId: string): Feed {
  const stays = (note: Told) => note.authorId !== authorId
  return { ...feed, waiting: feed.waiting.filter(stays), ...onTop(feed, stays) }
}

/** An update came. Some come again after a break. */
export function told(feed: Feed, update: Update): Feed {
  switch (update.kind) {
    case 'ready':
      return feed.ready ? feed : { ...feed, ready: true }
    case 'removed':
      return {
        ...feed,
        removed: new Set([...feed.removed, update.noteId]),
        waiting: feed.waiting.filter(({ id }) => id !== update.noteId),
      }
    case 'resync':
      // What is read anew has all of it.
      return { ...feed, waiting: [], tops: [], topped: [], round: feed.round + 1 }
    case 'added': {
      const { note } = update
      const known =
        feed.removed.has(note.id) ||
        feed.waiting.some(({ id }) => id === note.id) ||
        feed.tops.some((ids) => ids.includes(note.id)) ||
        (feed.page !== null && covers(feed.page, note))
      return known ? feed : { ...feed, waiting: [note, ...feed.waiting] }
    }
  }
}

/** Waiting notes were put on top. What does not wait any more is gone, or on a page. */
export function shown(feed: Feed, ids: readonly string[]): Feed {
  const fresh = feed.waiting.filter(({ id }) => ids.includes(id))
  if (fresh.length === 0) return feed
  return {
    ...feed,
    tops: [fresh.map(({ id }) => id), ...feed.tops],
    topped: [...fresh, ...feed.topped],
    waiting: feed.waiting.filter(({ id }) => !ids.includes(id)),
  }
}

/** The updates ended: they begin again, behind a page that is read anew. */
export function broken(feed: Feed): Feed {
  return { ...nothing, removed: feed.removed, round: feed.round + 1 }
}

/** What the pages leave out: it stands above them, or is gone. */
export function hidden(feed: Feed): ReadonlySet<string> {
  return new Set([...feed.tops.flat(), ...feed.removed])
}

/** Of what was put on top, what stays there. */
function onTop(feed: Feed, stays: (note: Told) => boolean): Pick<Feed, 'topped' | 'tops'> {
  const topped = feed.topped.filter(stays)
  const kept = new Set(topped.map(({ id }) => id))
  const tops = feed.tops.map((ids) => ids.filter((id) => kept.has(id)))
  return { topped, tops: tops.filter((ids) => ids.length > 0) }
}

/** Whether a page has a note, or one behind it does. */
function covers({ notes, more }: FirstPage, { id, createdAt }: Told): boolean {
  if (notes.some((note) => note.id === id)) return true
  const last = notes.at(-1)
  return more && last !== undefined && Date.parse(createdAt) < Date.parse(last.createdAt)
}
