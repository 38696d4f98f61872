package app_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/page"
	"github.com/tandian-dev/tandian/internal/note"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

const (
	raceUsers   = 16
	raceWriters = 2 // per process
	raceReaders = 2 // per process
)

// Readers and writers of two processes run concurrently, while fan-outs die and Redis loses
// keys. The test records when each call began and returned. A note that was due during the
// whole read of a page must be on it. A note that was never due during it must not.
//
// TANDIAN_TEST_SEED repeats the choices of a run, but not its interleaving.
func TestFeedPagesAreRightUnderConcurrency(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		feedRace := newFeedRace(t, on)
		feedRace.run(t, 3*time.Second, time.Minute)
		wrong := 0
		for _, r := range feedRace.pages {
			if err := feedRace.check(r); err != nil && wrong < 3 {
				wrong++
				t.Errorf("process %d, user %d, %d below %d: %v", r.by, r.user, r.size, r.below, err)
			}
		}
		feedRace.checkAll(t)
		t.Logf("%d pages, %d notes of which %d were deleted, %d follows of which %d ended", len(feedRace.pages),
			len(feedRace.notes), ended(feedRace.notes), len(feedRace.follows), ended(feedRace.follows))
		if !feedRace.enough() {
			t.Error("too few events to find an error")
		}
	})
}

// span is a call from its start to its return, in ticks of a shared clock. The zero span
// means no call.
type span struct{ began, returned int64 }

// life is the lifetime of a note or a follow.
type life struct {
	user, followee int64 // of a follow
	entry                // of a note
	begin, end     span
}

// existsThroughout reports whether l existed during the whole span.
func (l *life) existsThroughout(s span) bool {
	return l.begin.returned < s.began && (l.end.began == 0 || l.end.began > s.returned)
}

// mayExist reports whether l may have existed at some time of the span.
func (l *life) mayExist(s span) bool {
	return l.begin.began < s.returned && (l.end.returned == 0 || l.end.returned > s.began)
}

func ended(lives []*life) (n int) {
	for _, l := range lives {
		if l.end.began != 0 {
			n++
		}
	}
	return n
}

// pageRead is a page with the span of its read.
type pageRead struct {
	span
	by    int
	user  int64
	size  int
	below int64
	got   []entry
	more  bool
}

// feedRace holds two concurrent processes and the record of their calls.
type feedRace struct {
	ps     [2]*feedProcess
	people []int64
	seed   uint64
	now    atomic.Int64

	mu      sync.Mutex
	notes   []*life
	follows []*life
	pages   []pageRead
}

func newFeedRace(t *testing.T, on storetest.Stores) *feedRace {
	t.Helper()
	g := &feedRace{seed: testkit.Seed(t)}
	w := newFeedWorld(t, on)
	jobs := outbox.Options{Poll: 20 * time.Millisecond, HeadStart: time.Millisecond, RetryDelay: 5 * time.Millisecond, Timeout: time.Second}
	for i := range g.ps {
		cfg, caches := feedSmall, cache.Options{}
		if i == 1 { // its memory may be as old as the test
			cfg.LogTailSize, caches.LocalBytes, caches.SingleProcess = 100_000, 4<<20, true
		}
		g.ps[i] = openFeed(t, w.on[i], w.wires[i], caches, jobs, cfg)
		g.ps[i].isolated, g.ps[i].onDeath = i == 1, func() {}
	}
	for range raceUsers {
		user, err := w.on[0].DB.User.Create().SetNickname("a user").Save(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		g.people = append(g.people, user.ID)
	}
	return g
}

// call runs f and returns its span.
func (g *feedRace) call(do func() error) (span, error) {
	s := span{began: g.now.Add(1)}
	err := do()
	s.returned = g.now.Add(1)
	return s, err
}

// enough reports whether the calls so far can reveal an error.
func (g *feedRace) enough() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.pages) >= 50 && ended(g.notes) > 0 && ended(g.follows) > 0
}

// run runs all readers and writers for atLeast, or longer until there are enough calls, but
// at most for atMost.
func (g *feedRace) run(t *testing.T, atLeast, atMost time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), atMost)
	defer cancel()
	whole := t.Context()
	var all sync.WaitGroup
	all.Go(func() {
		defer cancel()
		_ = clock.Sleep(ctx, atLeast)
		for ctx.Err() == nil && !g.enough() {
			_ = clock.Sleep(ctx, 100*time.Millisecond) // the loop checks ctx
		}
	})
	do := func(stream uint64, one func(draw *rand.Rand) error) {
		draw := rand.New(rand.NewPCG(g.seed, stream))
		all.Go(func() {
			for ctx.Err() == nil {
				if err := one(draw); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i, p := range g.ps {
		for _, run := range []func(context.Context) error{p.hub.Run, p.Feed.Run, p.box.Run} {
			all.Go(func() {
				if err := run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		for j := range raceWriters {
			w := &raceWriter{feedRace: g, p: p, mine: i*raceWriters + j}
			do(uint64(10+w.mine), func(draw *rand.Rand) error { return w.write(whole, draw) }) //nolint:gosec // few
		}
		for j := range raceReaders {
			do(uint64(100+10*i+j), func(draw *rand.Rand) error { return g.read(whole, draw) }) //nolint:gosec // few
		}
		do(uint64(200+i), func(draw *rand.Rand) error { //nolint:gosec // few
			p.batches.Store(int64(draw.IntN(4)))
			_ = clock.Sleep(ctx, 20*time.Millisecond) // the loop checks ctx
			p.batches.Store(-1)
			_ = clock.Sleep(ctx, time.Duration(draw.IntN(100))*time.Millisecond)
			return nil
		})
	}
	do(300, func(draw *rand.Rand) error {
		_ = clock.Sleep(ctx, time.Duration(draw.IntN(30))*time.Millisecond)
		return g.lose(whole, draw)
	})
	all.Wait()
}

// lose deletes some keys of Redis.
func (g *feedRace) lose(ctx context.Context, draw *rand.Rand) error {
	on := g.ps[0].on
	keys, err := keysOf(ctx, on, storetest.Prefix+[]string{":feed:", ":follow:", ":cache:"}[draw.IntN(3)])
	keys = slices.DeleteFunc(keys, func(string) bool { return draw.IntN(8) > 0 })
	if err != nil || len(keys) == 0 {
		return err
	}
	return on.Redis.Unlink(ctx, keys...).Err()
}

// raceWriter is the only writer of some follows and of its own notes, so these changes
// are sequential.
type raceWriter struct {
	*feedRace
	p       *feedProcess
	mine    int
	own     []*life // existing notes
	current map[[2]int64]*life
}

func (w *raceWriter) write(ctx context.Context, draw *rand.Rand) error {
	// The first users have the most followers.
	author := w.people[int(math.Pow(raceUsers+1, draw.Float64()))-1]
	switch n := draw.IntN(20); {
	case n < 9:
		return w.publish(ctx, author)
	case n < 12 && len(w.own) > 0:
		return w.delete(ctx, len(w.own)-1-draw.IntN(min(len(w.own), 8)))
	}
	writers := raceWriters * len(w.ps)
	user := w.people[w.mine+writers*draw.IntN(raceUsers/writers)]
	if user == author {
		return nil
	}
	return w.toggleFollow(ctx, user, author)
}

func (w *raceWriter) publish(ctx context.Context, author int64) error {
	l := &life{}
	var err error
	l.begin, err = w.call(func() error {
		n, err := w.p.publish(ctx, author)
		if err == nil {
			l.entry = entry{n.Seq, n.ID, author}
		}
		return err
	})
	if err != nil {
		return err
	}
	w.own = append(w.own, l)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notes = append(w.notes, l)
	return nil
}

func (w *raceWriter) delete(ctx context.Context, i int) error {
	l := w.own[i]
	w.own = slices.Delete(w.own, i, i+1)
	return w.end(l, func() error { return w.p.Notes.Delete(ctx, note.Editor{UserID: l.author}, l.id) })
}

// end calls do and records it as the end of l.
func (w *raceWriter) end(l *life, do func() error) error {
	s, err := w.call(do)
	w.mu.Lock()
	defer w.mu.Unlock()
	l.end = s
	return err
}

// toggleFollow follows or unfollows an author.
func (w *raceWriter) toggleFollow(ctx context.Context, user, author int64) (err error) {
	pair := [2]int64{user, author}
	if l := w.current[pair]; l != nil {
		delete(w.current, pair)
		return w.end(l, func() error { return w.p.Follows.Unfollow(ctx, user, author) })
	}
	l := &life{user: user, followee: author}
	if l.begin, err = w.call(func() error { return w.p.Follows.Follow(ctx, user, author) }); err != nil {
		return err
	}
	if w.current == nil {
		w.current = map[[2]int64]*life{}
	}
	w.current[pair] = l
	w.mu.Lock()
	defer w.mu.Unlock()
	w.follows = append(w.follows, l)
	return nil
}

// read reads a feed to the end, or to about the hundredth note, because writes are
// sometimes faster.
func (g *feedRace) read(ctx context.Context, draw *rand.Rand) error {
	user, size := g.people[draw.IntN(len(g.people))], 1+draw.IntN(5)
	after, below := page.Cursor(""), int64(math.MaxInt64)
	for shown := 0; shown < 100; {
		r := pageRead{by: draw.IntN(2), user: user, size: size, below: below}
		var info page.Info
		var err error
		r.span, err = g.call(func() (err error) {
			r.got, info, err = g.ps[r.by].read(ctx, user, size, after)
			return err
		})
		if err != nil {
			return err
		}
		r.more = info.HasNextPage
		g.mu.Lock()
		g.pages = append(g.pages, r)
		g.mu.Unlock()
		if !r.more || len(r.got) == 0 {
			return nil
		}
		shown += len(r.got)
		after, below = *info.EndCursor, r.got[len(r.got)-1].seq
	}
	return nil
}

// check compares a page with the notes that were due.
func (g *feedRace) check(r pageRead) error {
	if len(r.got) > r.size || r.more && len(r.got) < r.size {
		return fmt.Errorf("got %d notes, more: %v", len(r.got), r.more)
	}
	last, shown := r.below, map[int64]bool{}
	for _, n := range r.got {
		if n.seq >= last {
			return fmt.Errorf("number %d follows %d", n.seq, last)
		}
		last, shown[n.id] = n.seq, true
	}
	always, sometimes := map[int64]bool{}, map[int64]bool{} // followed
	for _, f := range g.follows {
		if f.user == r.user {
			always[f.followee] = always[f.followee] || f.existsThroughout(r.span)
			sometimes[f.followee] = sometimes[f.followee] || f.mayExist(r.span)
		}
	}
	next := false // a further note may exist
	for _, n := range g.notes {
		perhaps := sometimes[n.author] && n.mayExist(r.span)
		inside := n.seq < r.below && (n.seq > last || !r.more)
		switch {
		case shown[n.id] && !perhaps:
			return fmt.Errorf("number %d of author %d was never due (%v, %v; page %v)", n.seq, n.author, n.begin, n.end, r.span)
		case !shown[n.id] && inside && always[n.author] && n.existsThroughout(r.span):
			return fmt.Errorf("number %d of author %d is missing (%v, %v; page %v %v)", n.seq, n.author, n.begin, n.end, r.span, r.got)
		}
		next = next || perhaps && n.seq < last
		delete(shown, n.id)
	}
	if len(shown) > 0 {
		return fmt.Errorf("%v was never published", shown)
	}
	if r.more && !next {
		return errors.New("got a next page without notes")
	}
	return nil
}

// checkAll compares every feed with a plain query at the end.
func (g *feedRace) checkAll(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	for by, p := range g.ps {
		if _, err := p.box.Replay(ctx, 0); err != nil {
			t.Fatal(err)
		}
		for _, user := range g.people {
			if err := checkFeed(ctx, p.on.DB, p, user); err != nil {
				t.Errorf("process %d, user %d: %v", by, user, err)
			}
		}
	}
}

// checkFeed compares a whole feed with a plain query.
func checkFeed(ctx context.Context, db *ent.Client, p *feedProcess, user int64) error {
	want, err := due(ctx, db, user, math.MaxInt64)
	if err != nil {
		return err
	}
	var got []entry
	for after := page.Cursor(""); ; {
		some, info, err := p.read(ctx, user, 20, after)
		if err != nil {
			return err
		}
		if got = append(got, some...); !info.HasNextPage {
			break
		}
		after = *info.EndCursor
	}
	if !slices.Equal(want, got) {
		return fmt.Errorf("want %v, got %v", want, got)
	}
	return nil
}
