package cache

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

const (
	unionUsers = 3
	unionSize  = 5 // small, so that floors matter
)

var unionAuthors = []string{"A", "B", "C", "D", "E", "F"}

// unionSeed returns the seed of a run. TANDIAN_TEST_SEED repeats one.
func unionSeed(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if s, err := strconv.ParseUint(os.Getenv("TANDIAN_TEST_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("seed %d", seed)
	return seed
}

// TestUnionsMatchTheSource makes random changes and reads in two processes, one at a time, and
// loses keys in between. Each page must be known and match the source of truth.
func TestUnionsMatchTheSource(t *testing.T) {
	onEach(t, func(t *testing.T, b *backend) {
		seed, w, a := unionSeed(t), b.world(t), newAuthors()
		draw := rand.New(rand.NewPCG(seed, 1))
		processes := []*feeds{
			feedsOf(w.process(t), a, a.load, WindowPolicy{Size: unionSize}),
			feedsOf(w.process(t), a, a.load, WindowPolicy{Size: unionSize}),
		}
		var whole, cut, shown int
		for step := range 2400 {
			if step%120 == 0 {
				a.begin()
			}
			f, user, source := processes[draw.IntN(2)], step/120*unionUsers+draw.IntN(unionUsers), unionAuthors[draw.IntN(len(unionAuthors))]
			k := f.keys(user)
			switch n := draw.IntN(40); {
			case n < 12:
				f.publish(t, source)
			case n < 20 && a.follows[user][source] == 0:
				f.follow(t, user, source)
			case n < 20:
				f.unfollow(t, user, source)
			case n == 20: // leaves and returns at once
				must(t, f.sources.RemoveExactly(t.Context(), user, a.leave(user, source)))
				f.publish(t, source)
				f.follow(t, user, source)
			case n == 21:
				must(t, f.Invalidate(t.Context(), user))
			case n < 24:
				w.drop(t, []string{k.window, k.seen, k.lease, k.sources}[draw.IntN(4)])
			default:
				from, limit := a.head-draw.Int64N(30), 1+draw.IntN(2*unionSize)
				if draw.IntN(2) == 0 {
					from = maxUnionScore
				}
				page := f.mustPage(t, user, from, limit, unionAuthors...)
				if diff := cmp.Diff(a.page(user, from, limit, page.Floor), page, cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("seed %d, step %d, user %d, %d from %d (-want +got):\n%s", seed, step, user, limit, from, diff)
				}
				shown += len(page.Entries)
				if page.Floor == math.MinInt64 {
					whole++
				} else {
					cut++
				}
			}
		}
		t.Logf("%d whole pages and %d others with %d entries", whole, cut, shown)
		if whole < 100 || cut < 100 || shown < 100 {
			t.Error("inconclusive run")
		}
	})
}

// begin removes all entries and follows.
func (a *authors) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.follows)
	a.entries = nil
}

// page returns the expected page of a union that is complete down to floor.
func (a *authors) page(user int, from int64, limit int, floor int64) UnionPage {
	p := UnionPage{OK: true, Floor: floor, Has: make(map[string]bool), Sources: SourceSet{Count: len(a.follows[user])}}
	for source, score := range a.follows[user] {
		p.Has[source] = true
		p.Sources.Newest = max(p.Sources.Newest, score)
	}
	for _, e := range a.entries {
		if p.Has[sourceOf(e)] && e.Score <= from && e.Score >= floor && len(p.Entries) < limit {
			p.Entries = append(p.Entries, e)
		}
	}
	return p
}

// TestConcurrentUnionsMatchTheSource does the same in three processes at once. A page may
// contain concurrent changes or not; everything else is determined.
func TestConcurrentUnionsMatchTheSource(t *testing.T) {
	onEach(t, func(t *testing.T, b *backend) {
		r := &unionRace{world: b.world(t), truth: newAuthors()}
		for range 3 {
			r.processes = append(r.processes, feedsOf(r.world.process(t), r.truth, r.load, WindowPolicy{Size: unionSize}))
		}
		r.run(t, unionSeed(t))
	})
}

// followed is a follow of a source by a user. Its score is unique.
type followed struct {
	user   int
	source string
	since  int64
}

// unionRace is a source of truth, with the changes that were announced.
type unionRace struct {
	world     *world
	processes []*feeds
	truth     *authors
	first     int // first user of the round

	mu        sync.Mutex // must not be taken under the mutex of truth
	now       int64      // counts announced ends
	pushed    map[Entry]bool
	announced map[followed]bool  // joined and announced
	left      map[followed]int64 // when the end was announced; 0: not yet

	pages, unknown, shown, whole, cut, wrong, writes atomic.Int64
}

// load reads the source of truth and returns after a delay.
func (r *unionRace) load(ctx context.Context, user int, above int64, limit int) ([]Entry, int64, error) {
	entries, newest, err := r.truth.load(ctx, user, above, limit)
	_ = clock.Sleep(ctx, rand.N(2*time.Millisecond))
	return entries, newest, err
}

func (r *unionRace) run(t *testing.T, seed uint64) {
	const rounds, maxRounds, during = 6, 60, 250 * time.Millisecond
	for round := 0; round < rounds || round < maxRounds && len(r.missing()) > 0; round++ {
		r.begin(round * unionUsers)
		ctx, cancel := context.WithTimeout(t.Context(), during)
		var all sync.WaitGroup
		for i, f := range r.processes {
			for j := range 2 {
				n := uint64(100*round + 10*i + j)
				all.Go(func() { r.write(ctx, t, f, rand.New(rand.NewPCG(seed, n))) })
				all.Go(func() { r.read(ctx, t, f, rand.New(rand.NewPCG(seed, 10_000+n))) })
			}
		}
		all.Wait()
		cancel()
	}
	sum := r.sum()
	t.Logf("%d pages, %d unknown, %d whole, %d others, %d entries, %d writes, %d hits, %d loads, %d stores refused, %d wrong",
		r.pages.Load(), r.unknown.Load(), r.whole.Load(), r.cut.Load(), r.shown.Load(), r.writes.Load(), sum.Hits, sum.Loads, sum.StoresRefused, r.wrong.Load())
	if n := r.wrong.Load(); n > 0 {
		t.Errorf("got %d of %d pages wrong, seed %d", n, r.pages.Load(), seed)
	}
	if sum.RedisErrors > 0 {
		t.Errorf("got %d Redis errors, want none", sum.RedisErrors)
	}
	if few := r.missing(); len(few) > 0 {
		t.Errorf("too few %v: inconclusive", few)
	}
}

// sum adds the counters of all processes.
func (r *unionRace) sum() (sum Stats) {
	for _, f := range r.processes {
		s := f.Window().Stats()
		sum.Hits, sum.Loads, sum.StoresRefused = sum.Hits+s.Hits, sum.Loads+s.Loads, sum.StoresRefused+s.StoresRefused
		sum.RedisErrors += s.RedisErrors + f.sources.Stats().RedisErrors
	}
	return sum
}

// missing names the events that a conclusive race still needs.
func (r *unionRace) missing() []string {
	sum := r.sum()
	return tooFew(map[string]int64{
		"known pages": r.pages.Load() - r.unknown.Load(), "whole pages": r.whole.Load(), "other pages": r.cut.Load(), "entries": r.shown.Load() / 10,
		"hits": sum.Hits, "loads": sum.Loads / 20, "stores refused": sum.StoresRefused, "writes": r.writes.Load() / 50,
	})
}

// tooFew names the events with count zero.
func tooFew(seen map[string]int64) []string {
	maps.DeleteFunc(seen, func(_ string, n int64) bool { return n > 0 })
	return slices.Sorted(maps.Keys(seen))
}

// raceFor ends after a duration, or later once enough events have happened: a busy machine
// gets ten times as long.
func raceFor(t *testing.T, during time.Duration, enough func() bool) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*during)
	go func() {
		for clock.Sleep(ctx, during) == nil {
			if enough() {
				cancel()
			}
		}
	}()
	return ctx, cancel
}

// begin starts a round, with users from first on.
func (r *unionRace) begin(first int) {
	r.truth.begin()
	r.first, r.pushed, r.announced, r.left = first, make(map[Entry]bool), make(map[followed]bool), make(map[followed]int64)
}

// write changes the source of truth, announces the changes later, and loses keys.
func (r *unionRace) write(ctx context.Context, t *testing.T, f *feeds, draw *rand.Rand) {
	for clock.Sleep(ctx, time.Duration(draw.Int64N(int64(4*time.Millisecond)))) == nil {
		user, source := r.first+draw.IntN(unionUsers), unionAuthors[draw.IntN(len(unionAuthors))]
		pause := func() { _ = clock.Sleep(ctx, time.Duration(draw.Int64N(int64(time.Millisecond)))) }
		var err error
		switch n := draw.IntN(20); {
		case n < 8:
			err = r.publish(ctx, f, source, pause)
		case n < 16:
			err = r.toggle(ctx, f, user, source, pause)
		case n == 16:
			err = f.Invalidate(ctx, user)
		default:
			k := f.keys(user)
			lost := []string{k.window, k.seen, k.lease, k.sources}[draw.IntN(4)]
			err = r.world.rdb.Unlink(context.WithoutCancel(ctx), lost).Err()
		}
		if err != nil {
			t.Error(err)
			return
		}
		r.writes.Add(1)
	}
}

func (r *unionRace) publish(ctx context.Context, f *feeds, source string, pause func()) error {
	e := r.truth.write(source)[0]
	pause()
	fresh := make(map[int][]Entry)
	r.truth.mu.Lock()
	for user, sources := range r.truth.follows {
		if sources[source] > 0 {
			fresh[user] = []Entry{e}
		}
	}
	r.truth.mu.Unlock()
	pause()
	err := f.Window().AddEach(ctx, fresh)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pushed[e] = true
	return err
}

// toggle makes a user follow or unfollow a source.
func (r *unionRace) toggle(ctx context.Context, f *feeds, user int, source string, pause func()) error {
	r.mu.Lock()
	r.truth.mu.Lock()
	since := r.truth.follows[user][source]
	r.truth.mu.Unlock()
	m := followed{user, source, since}
	if since == 0 {
		r.truth.join(user, source)
		m.since = r.truth.follows[user][source] // no other writer changes it
		r.left[m] = 0
	} else {
		delete(r.announced, m)
		r.truth.leave(user, source)
	}
	r.mu.Unlock()
	pause()
	if since == 0 {
		if err := f.sources.Invalidate(ctx, user); err != nil {
			return err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.truth.mu.Lock()
		defer r.truth.mu.Unlock()
		if r.truth.follows[user][source] == m.since {
			r.announced[m] = true
		}
		return nil
	}
	if err := f.sources.RemoveExactly(ctx, user, Entry{source, since}); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now++
	r.left[m] = r.now
	return nil
}

// expected is the set of announced facts.
type expected struct {
	now     int64
	sources map[followed]bool
	entries map[Entry]bool
}

func (r *unionRace) expected(user int) expected {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := expected{r.now, maps.Clone(r.announced), maps.Clone(r.pushed)}
	maps.DeleteFunc(d.sources, func(m followed, _ bool) bool { return m.user != user })
	return d
}

// possible returns the sources that a user may have had at some moment since then.
func (r *unionRace) possible(user int, then int64) map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	may := make(map[string]bool)
	for m, over := range r.left {
		if m.user == user && (over == 0 || over > then) {
			may[m.source] = true
		}
	}
	return may
}

func (r *unionRace) read(ctx context.Context, t *testing.T, f *feeds, draw *rand.Rand) {
	for clock.Sleep(ctx, time.Duration(draw.Int64N(int64(time.Millisecond)))) == nil {
		user, from, limit := r.first+draw.IntN(unionUsers), int64(maxUnionScore), 1+draw.IntN(2*unionSize)
		if draw.IntN(2) == 0 {
			r.truth.mu.Lock()
			from = r.truth.head - draw.Int64N(12)
			r.truth.mu.Unlock()
		}
		before := r.expected(user)
		page, err := f.Page(ctx, user, from, limit, unionAuthors)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			t.Error(err)
			return
		}
		still, may := r.expected(user), r.possible(user, before.now)
		maps.DeleteFunc(before.sources, func(m followed, _ bool) bool { return !still.sources[m] }) // its end may be visible or not
		r.pages.Add(1)
		if !page.OK {
			r.unknown.Add(1)
			continue
		}
		r.shown.Add(int64(len(page.Entries)))
		if page.Floor == math.MinInt64 {
			r.whole.Add(1)
		} else {
			r.cut.Add(1)
		}
		if why := wrongUnionPage(page, from, limit, before, may); why != "" {
			r.wrong.Add(1)
			t.Logf("user %d, %d from %d: %s in %s, sources %v", user, limit, from, why, page.describe(), page.Has)
		}
	}
}

// wrongUnionPage returns the error in a page, or "". A page covers the scores from its first
// down to its floor, or to its last entry if it is full.
func wrongUnionPage(page UnionPage, from int64, limit int, due expected, may map[string]bool) string {
	if len(page.Entries) > limit {
		return "too many entries"
	}
	for i, e := range page.Entries {
		switch {
		case !page.Has[sourceOf(e)]:
			return fmt.Sprintf("%v is not of a source", e)
		case e.Score > from, i > 0 && e.Compare(page.Entries[i-1]) >= 0:
			return fmt.Sprintf("%v is out of order", e)
		case e.Score < page.Floor:
			return fmt.Sprintf("%v is below the floor", e)
		}
	}
	for source := range page.Has {
		if !may[source] {
			return source + " is a former source"
		}
	}
	if page.Sources.Count != len(page.Has) {
		return fmt.Sprintf("%d sources", page.Sources.Count)
	}
	last := page.Floor
	if len(page.Entries) == limit {
		last = page.Entries[limit-1].Score
	}
	for m := range due.sources {
		if !page.Has[m.source] {
			return m.source + " is a missing source"
		}
		for e := range due.entries {
			if sourceOf(e) == m.source && e.Score <= from && e.Score >= last && !slices.Contains(page.Entries, e) {
				return fmt.Sprintf("%v is missing", e)
			}
		}
	}
	return ""
}
