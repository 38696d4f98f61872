package feed

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/page"
)

// Kinds of cursors: an edge of a feed, and a position in the log.
const (
	feedCursor = "FEED"
	liveCursor = "LIVE"
)

const (
	spare     = 8   // additional entries read from an inbox, because some notes may be deleted
	maxAtOnce = 128 // entries per step of a page; exceeds the largest page
)

// A Page is one page of a feed.
type Page struct {
	Edges []*Edge
	Info  page.Info
	// LogPosition is the log position of a first page. The live feed sends what happens after it.
	LogPosition page.Cursor
}

// An Edge is a note in a feed.
type Edge struct {
	Cursor page.Cursor
	Note   any // as [Notes.Rows] returned it
}

// Page returns a page of the notes by a user's followees, newest first. It includes every
// publication, deletion and change of follows that was committed before the call; follows count
// once the window of followees shows them.
//
// A page costs three round trips: for the log head, for the inbox and the follows, and for the
// notes that are not in memory. Concurrent readers share the first. Timelines of celebrities that
// are not in memory cost one more. Pages below the inbox come from the database. An inbox that is
// missing, or older than a follow, is loaded first. If Redis is unavailable, the database serves
// all pages.
//
// An invalid size or cursor is an [apierror.BadUserInput] error. All other errors come from the
// database.
func (s *Service) Page(ctx context.Context, user int64, first int, after page.Cursor) (*Page, error) {
	ctx, span := observe.Span(ctx, "feed.Page")
	defer span.End()
	if err := page.CheckFirst(first); err != nil {
		return nil, err
	}
	r := reader{s: s, user: user, upTo: math.MaxInt64, first: after == ""}
	if after != "" {
		if err := page.Decode(after, feedCursor, &r.upTo); err != nil {
			return nil, err
		}
		r.upTo = max(r.upTo, 1) - 1 // entries after the cursor are older
	}
	p, err := r.page(ctx, first, after)
	if err != nil {
		return nil, fmt.Errorf("read feed of user %d: %w", user, err)
	}
	return p, nil
}

type reader struct {
	s            *Service
	user         int64
	upTo         int64 // highest number to show
	synced       bool  // deletions before the call are known
	first        bool  // nothing was read yet, and there is no cursor
	fromDatabase bool  // read the rest from the database
	end          bool  // nothing is left
}

func (r *reader) page(ctx context.Context, first int, after page.Cursor) (*Page, error) {
	head := r.s.tail.knownHead()
	if after == "" || r.upTo > head || head == 0 {
		var err error
		if head, err = r.s.tail.sync(ctx); err != nil {
			return nil, err
		}
		r.synced = true
	}
	r.upTo = min(r.upTo, head)
	p := &Page{LogPosition: page.Encode(liveCursor, head), Edges: make([]*Edge, 0, first)}
	more := false
	for turn := 0; !r.end && !more; turn++ {
		want := first + 1 - len(p.Edges)
		if turn > 0 { // many notes were deleted: read more
			want = max(want, min(spare<<turn, maxAtOnce))
		}
		entries, err := r.next(ctx, want)
		if err != nil {
			return nil, err
		}
		rows, err := r.rows(ctx, entries)
		if err != nil {
			return nil, err
		}
		var deleted []cache.Entry
		for _, at := range entries {
			switch n := rows[at.note]; {
			case n == nil:
				deleted = append(deleted, at.cacheEntry())
			case len(p.Edges) == first:
				more = true
			default:
				p.Edges = append(p.Edges, &Edge{Cursor: page.Encode(feedCursor, at.seq), Note: n})
			}
		}
		if len(deleted) > 0 && !r.fromDatabase {
			// Later pages need not skip them. Ignore errors: this only saves work.
			_ = r.s.inboxes.Window().RemoveExactly(ctx, r.user, deleted...)
		}
	}
	from := "inbox"
	if r.fromDatabase {
		from = "database"
	}
	r.s.m.pages.WithLabelValues(from).Inc()
	cursors := make([]page.Cursor, len(p.Edges))
	for i, e := range p.Edges {
		cursors[i] = e.Cursor
	}
	p.Info = page.InfoOf(cursors, after, more)
	return p, nil
}

// next returns the next entries of the feed, at most limit, and moves below them. Fewer than limit
// mean the end of the feed.
func (r *reader) next(ctx context.Context, limit int) ([]entry, error) {
	if !r.fromDatabase {
		entries, err := r.merged(ctx, limit)
		if err != nil {
			return nil, err
		}
		if r.end || len(entries) == limit {
			r.moveBelow(entries)
			return entries, nil
		}
		r.fromDatabase = true
	}
	entries, _, err := r.s.newest(ctx, r.user, r.upTo+1, limit, min(limit, firstPerAuthor), 0)
	r.end = len(entries) < limit
	r.synced = true // the query leaves out deleted notes
	r.moveBelow(entries)
	return entries, err
}

func (r *reader) moveBelow(entries []entry) {
	r.first = false
	if n := len(entries); n > 0 {
		r.upTo = entries[n-1].seq - 1
	}
}

// merged returns the next entries from the inbox, open fan-outs and timelines of celebrities. If
// there are fewer than limit and r.end is false, they do not cover the page.
func (r *reader) merged(ctx context.Context, limit int) ([]entry, error) {
	s := r.s
	open, ok := s.tail.openUpTo(r.upTo)
	if !ok {
		return nil, nil
	}
	var authors []int64
	for _, e := range open {
		authors = append(authors, e.Author)
	}
	slices.Sort(authors)
	authors = slices.Compact(authors)
	inbox, celebrities, err := r.inbox(ctx, limit+spare, sourceNames(authors))
	if err != nil || !inbox.OK {
		return nil, err
	}
	floor := inbox.Floor
	if n := len(inbox.Entries); n == limit+spare {
		floor = inbox.Entries[n-1].Score
	}
	found := map[int64]entry{}
	for _, e := range inbox.Entries {
		if at, valid := parseEntry(e); valid {
			found[at.seq] = at
		}
	}
	for _, e := range open {
		if inbox.Has[decimal(e.Author)] {
			found[e.Seq] = entry{e.Seq, e.Note, e.Author}
		}
	}
	timelines, err := s.timelines(ctx, celebrities)
	if err != nil {
		return nil, err
	}
	for celebrity, o := range timelines {
		newer, whole := s.tail.notesBy(celebrity, o.AsOf, r.upTo)
		if !whole { // the tail was trimmed meanwhile
			return nil, nil
		}
		for _, e := range newer {
			found[e.Seq] = entry{e.Seq, e.Note, celebrity}
		}
		floor = max(floor, o.floor(s.cfg.OutboxSize))
		taken := 0
		for _, at := range o.Entries {
			if at[0] > r.upTo {
				continue
			}
			if taken == limit { // enough for the page
				floor = max(floor, at[0]+1)
				break
			}
			found[at[0]] = entry{at[0], at[1], celebrity}
			taken++
		}
	}
	entries := make([]entry, 0, len(found))
	for _, at := range found {
		if at.seq >= floor {
			entries = append(entries, at)
		}
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(b.seq, a.seq) })
	if len(entries) > limit {
		return entries[:limit], nil
	}
	r.end = floor <= 0
	if r.first && len(entries) < limit && floor == inbox.Floor && !r.end {
		// Most entries are by unfollowed authors. The next reader reloads the inbox; if this
		// fails, a later page tries again.
		_ = s.inboxes.Invalidate(ctx, r.user)
	}
	return entries, nil
}

// inbox reads the inbox, and the celebrities that the user follows.
func (r *reader) inbox(ctx context.Context, limit int, authors []string) (cache.UnionPage, []int64, error) {
	s := r.s
	cached, known := s.celebrities.get(r.user)
	fresh, all := s.tail.celebritiesSince(cached.known)
	inbox, err := s.inboxes.Page(ctx, r.user, r.upTo, limit, append(authors, sourceNames(fresh)...))
	if err != nil || !inbox.OK {
		return inbox, nil, err
	}
	if known && cached.sources != inbox.Sources {
		// The followees have changed: check all celebrities.
		fresh, all = s.tail.celebritiesSince(0)
		cached = followedCelebrities{}
		if inbox, err = s.inboxes.Page(ctx, r.user, r.upTo, limit, append(authors, sourceNames(fresh)...)); err != nil || !inbox.OK {
			return inbox, nil, err
		}
	}
	if all > 0 && (!known || all != cached.known || cached.sources != inbox.Sources) {
		cached = followedCelebrities{sources: inbox.Sources, known: all, ids: append(slices.Clone(cached.ids), filterFollowed(fresh, inbox.Has)...)}
		s.celebrities.put(r.user, cached)
	}
	return inbox, cached.ids, nil
}

// rows reads the notes of entries, without deleted ones.
func (r *reader) rows(ctx context.Context, entries []entry) (map[int64]any, error) {
	ids := make([]int64, len(entries))
	for i, at := range entries {
		ids[i] = at.note
	}
	var rows map[int64]any
	var both errgroup.Group
	if len(ids) > 0 {
		both.Go(func() (err error) {
			rows, err = r.s.cfg.Notes.Rows(ctx, ids)
			return err
		})
	}
	if !r.synced {
		both.Go(func() error {
			_, err := r.s.tail.sync(ctx)
			return err
		})
	}
	if err := both.Wait(); err != nil {
		return nil, err
	}
	r.synced = true
	for _, id := range ids {
		if r.s.tail.isRemoved(id) {
			delete(rows, id)
		}
	}
	return rows, nil
}
