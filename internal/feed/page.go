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

// The names of places in cursors: of a note in a feed, and of the head of the log.
const (
	feedCursor = "FEED"
	liveCursor = "LIVE"
)

// spare is how many entries more than a page has are read of an inbox, for notes that turn
// out to be deleted.
const spare = 8

// maxAtOnce is how many places one turn of a page takes at most: more than the largest page.
const maxAtOnce = 128

// A Page is a part of a feed.
type Page struct {
	Edges []*Edge
	Info  page.Info
	// LogPosition is the place in the log that a page without a cursor shows the feed of. What
	// happens behind it is told by the live feed.
	LogPosition page.Cursor
}

// An Edge is a note's place in a feed.
type Edge struct {
	Cursor page.Cursor
	Note   any // as [Notes.Rows] returned it
}

// Page returns a page of the notes of those whom a user follows, newest first: what was
// published, deleted, followed and unfollowed before the call counts, for feeds at the moment
// of their commits, for follows as soon as whom the user follows shows it.
//
// A page costs three round trips: one for the end of the log, which all readers of a moment
// share; one for the inbox, with the decision whom the user follows; one for the notes, if
// they are not in memory. The outboxes of followed stars are one more, if they are not
// either. A page that goes beyond the inbox comes from the database instead. Somebody without
// an inbox, and one who followed somebody since, have theirs filled first. When Redis is away
// the database answers, so any other error than that of a page that makes no sense, which is
// a fault, means that the database failed.
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
		r.upTo = max(r.upTo, 1) - 1 // what is shown is older
	}
	p, err := r.page(ctx, first, after)
	if err != nil {
		return nil, fmt.Errorf("read the feed of user %d: %w", user, err)
	}
	return p, nil
}

// A reader reads one page.
type reader struct {
	s      *Service
	user   int64
	upTo   int64 // the highest number that may be shown
	synced bool  // what was deleted before the page is known
	first  bool  // nothing was read yet, of the first page
	plain  bool  // the rest comes from the database
	end    bool  // there is nothing below what was read
}

func (r *reader) page(ctx context.Context, first int, after page.Cursor) (*Page, error) {
	head := r.s.tail.known()
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
		if turn > 0 { // much was deleted here, and there may be more of that
			want = max(want, min(spare<<turn, maxAtOnce))
		}
		spots, err := r.next(ctx, want)
		if err != nil {
			return nil, err
		}
		rows, err := r.rows(ctx, spots)
		if err != nil {
			return nil, err
		}
		var dead []cache.Entry
		for _, at := range spots {
			switch n := rows[at.note]; {
			case n == nil:
				dead = append(dead, at.cacheEntry())
			case len(p.Edges) == first:
				more = true
			default:
				p.Edges = append(p.Edges, &Edge{Cursor: page.Encode(feedCursor, at.seq), Note: n})
			}
		}
		if len(dead) > 0 && !r.plain {
			// Others would pass over them too. If it fails, they will.
			_ = r.s.inboxes.Window().RemoveExactly(ctx, r.user, dead...)
		}
	}
	from := "inbox"
	if r.plain {
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

// next returns the next places of the feed, most of them if there are so many, and moves on
// behind them.
func (r *reader) next(ctx context.Context, most int) ([]entry, error) {
	if !r.plain {
		spots, err := r.merged(ctx, most)
		if err != nil {
			return nil, err
		}
		if r.end || len(spots) == most {
			r.passed(spots)
			return spots, nil
		}
		r.plain = true
	}
	spots, _, err := r.s.newest(ctx, r.user, r.upTo+1, most, min(most, readOfEach), 0)
	r.end = len(spots) < most
	r.synced = true // for what the database said is there
	r.passed(spots)
	return spots, err
}

func (r *reader) passed(spots []entry) {
	r.first = false
	if n := len(spots); n > 0 {
		r.upTo = spots[n-1].seq - 1
	}
}

// merged returns the next places from the inbox, from what is on its way there, and from the
// outboxes of stars. If they are fewer than most and that is not the end, the inbox does not
// hold the page.
func (r *reader) merged(ctx context.Context, most int) ([]entry, error) {
	s := r.s
	open, ok := s.tail.underWay(r.upTo)
	if !ok {
		return nil, nil
	}
	var authors []int64
	for _, e := range open {
		authors = append(authors, e.Author)
	}
	slices.Sort(authors)
	authors = slices.Compact(authors)
	inbox, stars, err := r.inbox(ctx, most+spare, names(authors))
	if err != nil || !inbox.Known {
		return nil, err
	}
	floor := inbox.Floor
	if n := len(inbox.Entries); n == most+spare {
		floor = inbox.Entries[n-1].Score
	}
	found := map[int64]entry{}
	for _, e := range inbox.Entries {
		if at, ours := spotOf(e); ours {
			found[at.seq] = at
		}
	}
	for _, e := range open {
		if inbox.Has[decimal(e.Author)] {
			found[e.Seq] = entry{e.Seq, e.Note, e.Author}
		}
	}
	outs, err := s.outboxes(ctx, stars)
	if err != nil {
		return nil, err
	}
	for star, o := range outs {
		newer, whole := s.tail.ofStar(star, o.AsOf, r.upTo)
		if !whole { // the tail has moved on since
			return nil, nil
		}
		for _, e := range newer {
			found[e.Seq] = entry{e.Seq, e.Note, star}
		}
		floor = max(floor, o.floor(s.cfg.OutboxSize))
		taken := 0
		for _, at := range o.Entries {
			if at[0] > r.upTo {
				continue
			}
			if taken == most { // no page shows more of them
				floor = max(floor, at[0]+1)
				break
			}
			found[at[0]] = entry{at[0], at[1], star}
			taken++
		}
	}
	spots := make([]entry, 0, len(found))
	for _, at := range found {
		if at.seq >= floor {
			spots = append(spots, at)
		}
	}
	slices.SortFunc(spots, func(a, b entry) int { return cmp.Compare(b.seq, a.seq) })
	if len(spots) > most {
		return spots[:most], nil
	}
	r.end = floor <= 0
	if r.first && len(spots) < most && floor == inbox.Floor && !r.end {
		// Most of it is by people whom the user follows no more. Whoever comes next fills it
		// again; if Redis cannot be told, after the next one.
		_ = s.inboxes.Invalidate(ctx, r.user)
	}
	return spots, nil
}

// inbox reads the inbox, and which stars the user follows.
func (r *reader) inbox(ctx context.Context, most int, asked []string) (cache.UnionPage, []int64, error) {
	s := r.s
	kept, known := s.stars.get(r.user)
	fresh, all := s.tail.starsSince(kept.known)
	inbox, err := s.inboxes.Page(ctx, r.user, r.upTo, most, append(asked, names(fresh)...))
	if err != nil || !inbox.Known {
		return inbox, nil, err
	}
	if known && kept.of != inbox.Sources {
		// Whom the user follows has changed: all stars are asked for again.
		fresh, all = s.tail.starsSince(0)
		kept = followedCelebrities{}
		if inbox, err = s.inboxes.Page(ctx, r.user, r.upTo, most, append(asked, names(fresh)...)); err != nil || !inbox.Known {
			return inbox, nil, err
		}
	}
	if all > 0 && (!known || all != kept.known || kept.of != inbox.Sources) {
		kept = followedCelebrities{of: inbox.Sources, known: all, stars: append(slices.Clone(kept.stars), those(fresh, inbox.Has)...)}
		s.stars.put(r.user, kept)
	}
	return inbox, kept.stars, nil
}

// rows reads the notes of places. What was deleted is not among them.
func (r *reader) rows(ctx context.Context, spots []entry) (map[int64]any, error) {
	ids := make([]int64, len(spots))
	for i, at := range spots {
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
		if r.s.tail.gone(id) {
			delete(rows, id)
		}
	}
	return rows, nil
}
