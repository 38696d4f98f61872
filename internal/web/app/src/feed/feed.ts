// The state of the feed: shown pages and unread notes. This module does not depend on React or the
// network.
//
// Pages are read newest first. The page read without a cursor is a snapshot, and updates continue
// from it. Pages and updates overlap: a page read after an update also contains that note.

/** A note of an update or a page. */
export interface FeedNote {
  readonly id: string
  readonly createdAt: string
  readonly authorId: string
}

/** The first page. */
export interface FirstPage {
  /** Cursor of the snapshot. */
  readonly liveCursor: string
  /** Newest first. */
  readonly notes: readonly FeedNote[]
  /** More pages follow. */
  readonly more: boolean
}

export type Update =
  | { readonly kind: 'added'; readonly note: FeedNote }
  | { readonly kind: 'removed'; readonly noteId: string }
  | { readonly kind: 'ready' }
  | { readonly kind: 'resync' }

export interface Feed {
  /** Cursor where updates start; null if unknown. */
  readonly start: string | null
  /** All missed updates have arrived. */
  readonly ready: boolean
  /** The first page that is shown. */
  readonly page: FirstPage | null
  /** Unread notes, newest first. */
  readonly waiting: readonly FeedNote[]
  /** Note ids shown above the first page, in batches; newest first. */
  readonly prepended: readonly (readonly string[])[]
  /** The notes of `prepended`. */
  readonly prependedNotes: readonly FeedNote[]
  /** Deleted notes. */
  readonly removed: ReadonlySet<string>
  /** Increases each time all pages must be read again. */
  readonly generation: number
}

export const emptyFeed: Feed = {
  start: null,
  ready: false,
  page: null,
  waiting: [],
  prepended: [],
  prependedNotes: [],
  removed: new Set(),
  generation: 0,
}

/** Sets the cursor where updates start. */
export function withStart(feed: Feed, start: string): Feed {
  return start === feed.start ? feed : { ...feed, start, ready: false }
}

/** Adds the first page. */
export function withPage(feed: Feed, page: FirstPage): Feed {
  // Updates start at the first page read. They continue across later pages.
  const at = feed.page === null ? withStart(feed, page.liveCursor) : feed
  const waiting = feed.waiting.filter((note) => !covers(page, note))
  if (page.liveCursor === feed.page?.liveCursor) return { ...at, page, waiting }
  // A newer page contains the prepended notes, except those that arrived after its snapshot.
  return { ...at, page, waiting, ...onTop(feed, (note) => !covers(page, note)) }
}

/** Removes the notes of an author that the viewer no longer follows. No update reports this. */
export function withoutAuthor(feed: Feed, authorId: string): Feed {
  const stays = (note: FeedNote) => note.authorId !== authorId
  return { ...feed, waiting: feed.waiting.filter(stays), ...onTop(feed, stays) }
}

/** Applies an update. After a break, updates can repeat. */
export function withUpdate(feed: Feed, update: Update): Feed {
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
      // The next read contains all notes.
      return {
        ...feed,
        waiting: [],
        prepended: [],
        prependedNotes: [],
        generation: feed.generation + 1,
      }
    case 'added': {
      const { note } = update
      const known =
        feed.removed.has(note.id) ||
        feed.waiting.some(({ id }) => id === note.id) ||
        feed.prepended.some((ids) => ids.includes(note.id)) ||
        (feed.page !== null && covers(feed.page, note))
      return known ? feed : { ...feed, waiting: [note, ...feed.waiting] }
    }
  }
}

/**
 * Moves unread notes above the first page. Notes no longer waiting were deleted or are on a page.
 */
export function withShown(feed: Feed, ids: readonly string[]): Feed {
  const fresh = feed.waiting.filter(({ id }) => ids.includes(id))
  if (fresh.length === 0) return feed
  return {
    ...feed,
    prepended: [fresh.map(({ id }) => id), ...feed.prepended],
    prependedNotes: [...fresh, ...feed.prependedNotes],
    waiting: feed.waiting.filter(({ id }) => !ids.includes(id)),
  }
}

/** Resets the feed after updates ended. They start again behind the next page. */
export function restarted(feed: Feed): Feed {
  return { ...emptyFeed, removed: feed.removed, generation: feed.generation + 1 }
}

/** Returns the notes that pages skip: they are shown above, or deleted. */
export function hiddenIds(feed: Feed): ReadonlySet<string> {
  return new Set([...feed.prepended.flat(), ...feed.removed])
}

/** Filters the prepended notes. */
function onTop(
  feed: Feed,
  stays: (note: FeedNote) => boolean,
): Pick<Feed, 'prependedNotes' | 'prepended'> {
  const prependedNotes = feed.prependedNotes.filter(stays)
  const kept = new Set(prependedNotes.map(({ id }) => id))
  const prepended = feed.prepended.map((ids) => ids.filter((id) => kept.has(id)))
  return { prependedNotes, prepended: prepended.filter((ids) => ids.length > 0) }
}

/** Reports whether a note is on this page or on a later one. */
function covers({ notes, more }: FirstPage, { id, createdAt }: FeedNote): boolean {
  if (notes.some((note) => note.id === id)) return true
  const last = notes.at(-1)
  return more && last !== undefined && Date.parse(createdAt) < Date.parse(last.createdAt)
}
