package cache

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// TestUnorderedWindowChangesMatchTheSource adds members to lists and removes them repeatedly,
// each time under a new score. It announces the changes in random order, some twice: inserts
// by Invalidate, removals by RemoveExactly. After all announcements, each window matches its
// list. TANDIAN_TEST_SEED repeats the choices of a run, but not its interleaving.
func TestUnorderedWindowChangesMatchTheSource(t *testing.T) {
	onEach(t, func(t *testing.T, b *backend) {
		seed := uint64(time.Now().UnixNano())
		if s, err := strconv.ParseUint(os.Getenv("TANDIAN_TEST_SEED"), 10, 64); err == nil {
			seed = s
		}
		t.Logf("seed %d", seed)
		const rounds, workers = 8, 4
		w := b.world(t)
		o := &unorderedChanges{members: make(map[int]map[string]int64)}
		for range workers {
			o.windows = append(o.windows, windowOf(w.process(t), o.load, WindowPolicy{Size: unorderedSize}))
		}
		for round := range rounds {
			var all sync.WaitGroup
			for i, win := range o.windows {
				all.Go(func() { o.work(t, win, rand.New(rand.NewPCG(seed, uint64(100*round+i)))) })
			}
			all.Wait()
			o.check(t, round, seed)
		}
		var sum Stats
		for _, win := range o.windows {
			s := win.Stats()
			sum.Hits, sum.Loads, sum.StoresRefused = sum.Hits+s.Hits, sum.Loads+s.Loads, sum.StoresRefused+s.StoresRefused
		}
		t.Logf("%d announcements, %d windows compared, %d hits, %d loads, %d stores refused", o.applied, o.compared, sum.Hits, sum.Loads, sum.StoresRefused)
		if o.compared < rounds || sum.Hits == 0 || sum.StoresRefused == 0 {
			t.Error("inconclusive run")
		}
	})
}

const (
	unorderedLists   = 4
	unorderedMembers = 9
	unorderedSize    = 5
)

// unorderedChanges holds lists whose changes are announced in any order.
type unorderedChanges struct {
	windows []*Window[int]

	mu       sync.Mutex
	members  map[int]map[string]int64 // by list, the score of each member
	last     int64                    // highest score, like the id of a row
	pending  []func(*Window[int]) error
	applied  int
	compared int // compared windows
}

func (o *unorderedChanges) load(ctx context.Context, lists []int, limit int) (map[int][]Entry, error) {
	found := make(map[int][]Entry)
	o.mu.Lock()
	for _, list := range lists {
		found[list] = o.newest(list, limit)
	}
	o.mu.Unlock()
	_ = clock.Sleep(ctx, rand.N(2*time.Millisecond))
	return found, nil
}

// newest must be called under o.mu.
func (o *unorderedChanges) newest(list, limit int) []Entry {
	var all []Entry
	for member, score := range o.members[list] {
		all = append(all, Entry{member, score})
	}
	all = newestFirst(all)
	return all[:min(limit, len(all))]
}

// work changes lists, announces some changes, and reads. At its end it announces all.
func (o *unorderedChanges) work(t *testing.T, win *Window[int], draw *rand.Rand) {
	const steps = 25
	ctx := t.Context()
	for range steps {
		o.change(ctx, draw.IntN(unorderedLists), strconv.Itoa(draw.IntN(unorderedMembers)))
		if draw.IntN(3) > 0 {
			o.apply(t, win, draw)
		}
		if _, err := win.Pages(ctx, []int{draw.IntN(unorderedLists), draw.IntN(unorderedLists)}, 3); err != nil {
			t.Error(err)
		}
	}
	for o.apply(t, win, draw) {
		if _, _, err := win.Page(ctx, draw.IntN(unorderedLists), nil, 3); err != nil {
			t.Error(err)
		}
	}
}

// change commits that a member is added or removed, and queues the announcement.
func (o *unorderedChanges) change(ctx context.Context, list int, member string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.members[list] == nil {
		o.members[list] = make(map[string]int64)
	}
	if score, there := o.members[list][member]; there {
		delete(o.members[list], member)
		o.pending = append(o.pending, func(w *Window[int]) error { return w.RemoveExactly(ctx, list, Entry{member, score}) })
		return
	}
	o.last++
	o.members[list][member] = o.last
	o.pending = append(o.pending, func(w *Window[int]) error { return w.Invalidate(ctx, list) })
}

// apply announces a queued change, and sometimes leaves it in the queue.
func (o *unorderedChanges) apply(t *testing.T, win *Window[int], draw *rand.Rand) bool {
	o.mu.Lock()
	if len(o.pending) == 0 {
		o.mu.Unlock()
		return false
	}
	i, last := draw.IntN(len(o.pending)), len(o.pending)-1
	do := o.pending[i]
	if draw.IntN(4) > 0 {
		o.pending[i] = o.pending[last]
		o.pending = o.pending[:last]
	}
	o.applied++
	o.mu.Unlock()
	if err := do(win); err != nil {
		t.Error(err)
	}
	return true
}

// check compares the stored windows with the lists. No load runs meanwhile.
func (o *unorderedChanges) check(t *testing.T, round int, seed uint64) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	windows, err := o.windows[0].Peek(t.Context(), 0, 1, 2, 3)
	must(t, err)
	o.compared += len(windows)
	for _, k := range windows {
		want := o.newest(k.Key, len(k.Entries))
		if k.Whole {
			want = o.newest(k.Key, unorderedMembers)
		}
		if diff := cmp.Diff(want, k.Entries, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("round %d, seed %d, list %d (-want +got):\n%s", round, seed, k.Key, diff)
		}
	}
}
