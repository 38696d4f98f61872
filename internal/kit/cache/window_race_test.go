package cache

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// TestConcurrentWindowsMatchTheSource reads and writes at random in three processes, and
// compares each page with a model of its required and its forbidden entries. TANDIAN_TEST_SEED
// repeats the choices of a run, but not its interleaving.
func TestConcurrentWindowsMatchTheSource(t *testing.T) {
	onEach(t, func(t *testing.T, b *backend) {
		seed := uint64(time.Now().UnixNano())
		if s, err := strconv.ParseUint(os.Getenv("TANDIAN_TEST_SEED"), 10, 64); err == nil {
			seed = s
		}
		t.Logf("seed %d", seed)
		newWindowRace(t, b.world(t)).run(t, seed, raceTime())
	})
}

const (
	windowLists   = 6
	windowSize    = 8
	windowReaders = 4  // of each process
	windowScores  = 40 // few, so that many entries tie
)

// entryStage is the stage of an entry. It changes under the model's mutex.
type entryStage int

const (
	addPending      entryStage = iota // committed; its Add has not returned
	added                             // its Add has returned
	removePending                     // its removal is committed; its Remove has not returned
	removalReturned                   // its Remove has returned
)

// modelEntry is an entry of the model. It is added only once.
type modelEntry struct {
	Entry
	state entryStage
}

type windowRace struct {
	world   *world
	windows []*Window[int]

	mu    sync.Mutex
	lists [windowLists][]*modelEntry
	names int

	reads, writes, past, ends, wrong atomic.Int64
}

func newWindowRace(t *testing.T, w *world) *windowRace {
	r := &windowRace{world: w}
	for range 3 {
		r.windows = append(r.windows, windowOf(w.process(t), r.load, WindowPolicy{Size: windowSize}))
	}
	return r
}

// load reads the source of truth and returns after a delay.
func (r *windowRace) load(ctx context.Context, lists []int, limit int) (map[int][]Entry, error) {
	found := make(map[int][]Entry)
	r.mu.Lock()
	for _, list := range lists {
		for _, p := range r.lists[list] {
			if p.state < removePending {
				found[list] = append(found[list], p.Entry)
			}
		}
	}
	r.mu.Unlock()
	_ = clock.Sleep(ctx, rand.N(3*time.Millisecond))
	for list, all := range found {
		all = newestFirst(all)
		found[list] = all[:min(limit, len(all))]
	}
	return found, nil
}

func (r *windowRace) run(t *testing.T, seed uint64, during time.Duration) {
	ctx, cancel := raceFor(t, during, func() bool { return len(r.missing()) == 0 })
	defer cancel()
	var all sync.WaitGroup
	for i, win := range r.windows {
		for j := range 2 {
			all.Go(func() { r.write(ctx, t, win, rand.New(rand.NewPCG(seed, uint64(10*i+j)))) })
		}
		for j := range windowReaders {
			all.Go(func() { r.read(ctx, t, win, rand.New(rand.NewPCG(seed, uint64(1000*(i+1)+j)))) })
		}
	}
	all.Wait()
	sum := r.sum()
	t.Logf("%d reads, %d hits, %d past the floor, %d to the end, %d writes, %d loads, %d stores refused, %d wrong",
		r.reads.Load(), sum.Hits, r.past.Load(), r.ends.Load(), r.writes.Load(), sum.Loads, sum.StoresRefused, r.wrong.Load())
	if n := r.wrong.Load(); n > 0 {
		t.Errorf("got %d of %d reads wrong, seed %d", n, r.reads.Load(), seed)
	}
	if sum.RedisErrors > 0 {
		t.Errorf("got %d Redis errors, want none", sum.RedisErrors)
	}
	if few := r.missing(); len(few) > 0 {
		t.Errorf("too few %v: inconclusive", few)
	}
}

// sum adds the counters of all processes.
func (r *windowRace) sum() (sum Stats) {
	for _, win := range r.windows {
		s := win.Stats()
		sum.Hits, sum.Loads, sum.StoresRefused = sum.Hits+s.Hits, sum.Loads+s.Loads, sum.StoresRefused+s.StoresRefused
		sum.RedisErrors += s.RedisErrors
	}
	return sum
}

// missing names the events that a conclusive race still needs.
func (r *windowRace) missing() []string {
	sum := r.sum()
	return tooFew(map[string]int64{
		"hits": sum.Hits / 100, "loads": sum.Loads / 20, "stores refused": sum.StoresRefused,
		"pages past the floor": r.past.Load(), "pages to the end": r.ends.Load(), "writes": r.writes.Load() / 50,
	})
}

// write changes lists, mostly by adding and removing. Lists stay about as long as a window, so
// windows are sometimes whole, sometimes partial.
func (r *windowRace) write(ctx context.Context, t *testing.T, win *Window[int], draw *rand.Rand) {
	for clock.Sleep(ctx, time.Duration(draw.Int64N(int64(3*time.Millisecond)))) == nil {
		list := draw.IntN(windowLists)
		var err error
		switch n := draw.IntN(20); {
		case n == 0:
			err = win.Invalidate(ctx, list, draw.IntN(windowLists))
		case n == 1: // like its expiry
			err = r.world.rdb.Unlink(context.WithoutCancel(ctx), win.nameOf(list)).Err()
		case n < 11:
			err = r.add(ctx, win, list, draw)
		default:
			err = r.remove(ctx, win, list, draw)
		}
		if err != nil {
			t.Error(err)
			return
		}
		r.writes.Add(1)
	}
}

func (r *windowRace) add(ctx context.Context, win *Window[int], list int, draw *rand.Rand) error {
	fresh := make([]*modelEntry, 1+draw.IntN(3))
	entries := make([]Entry, len(fresh))
	r.mu.Lock()
	for i := range fresh {
		r.names++
		entries[i] = Entry{fmt.Sprintf("%02d-%d", draw.IntN(100), r.names), draw.Int64N(windowScores)}
		fresh[i] = &modelEntry{entries[i], addPending}
	}
	r.lists[list] = append(r.lists[list], fresh...)
	r.mu.Unlock()
	return r.then(win.Add(ctx, list, entries...), fresh, added)
}

func (r *windowRace) remove(ctx context.Context, win *Window[int], list int, draw *rand.Rand) error {
	var some []*modelEntry
	var members []string
	r.mu.Lock()
	for _, i := range draw.Perm(len(r.lists[list])) {
		if p := r.lists[list][i]; p.state == added && len(some) < 3 {
			p.state = removePending
			some, members = append(some, p), append(members, p.Member)
		}
	}
	r.mu.Unlock()
	return r.then(win.Remove(ctx, list, members...), some, removalReturned)
}

// then sets the stage of entries after a write returned.
func (r *windowRace) then(err error, these []*modelEntry, is entryStage) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range these {
		p.state = is
	}
	return err
}

// in returns the entries of a list at this stage.
func (r *windowRace) in(list int, is entryStage) map[Entry]bool {
	found := make(map[Entry]bool)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.lists[list] {
		if p.state == is {
			found[p.Entry] = true
		}
	}
	return found
}

func (r *windowRace) read(ctx context.Context, t *testing.T, win *Window[int], draw *rand.Rand) {
	for ctx.Err() == nil {
		list, first := draw.IntN(windowLists), 1+draw.IntN(2*windowSize)
		var after *Entry
		if draw.IntN(2) == 0 {
			after = &Entry{fmt.Sprintf("%02d", draw.IntN(100)), draw.Int64N(windowScores)}
		}
		before, over := r.in(list, added), r.in(list, removalReturned)
		page, complete, err := win.Page(ctx, list, after, first)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			t.Error(err)
			return
		}
		still := r.in(list, added)
		r.reads.Add(1)
		if !complete {
			r.past.Add(1)
		} else if len(page) < first {
			r.ends.Add(1)
		}
		maps.DeleteFunc(before, func(e Entry, _ bool) bool { return !still[e] }) // its removal may be visible or not
		if why := wrongPage(page, complete, after, first, before, over); why != "" {
			r.wrong.Add(1)
			t.Logf("list %d, %d after %v, complete %v: %s in %v", list, first, after, complete, why, page)
		}
	}
}

// wrongPage returns the error in a page, or "". A page covers the entries older than after,
// down to its last entry. A complete page that is not full covers the rest of the list.
func wrongPage(page []Entry, complete bool, after *Entry, first int, due, over map[Entry]bool) string {
	if len(page) > first || complete && len(page) < first && len(page) > windowSize {
		return "too many entries"
	}
	toTheEnd := complete && len(page) < first
	for i, e := range page {
		switch {
		case over[e]:
			return fmt.Sprintf("%v was removed", e)
		case i > 0 && e.Compare(page[i-1]) >= 0, after != nil && e.Compare(*after) >= 0:
			return fmt.Sprintf("%v is out of order", e)
		}
	}
	for e := range due {
		covered := toTheEnd || len(page) > 0 && e.Compare(page[len(page)-1]) >= 0
		if covered && (after == nil || e.Compare(*after) < 0) && !slices.Contains(page, e) {
			return fmt.Sprintf("%v is missing", e)
		}
	}
	return ""
}
