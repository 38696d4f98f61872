package cache

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// A message of a new epoch also reaches who knew none: a guard may have missed
// inserts.
func TestFirstEpochMessageDropsTheFilter(t *testing.T) {
	x := newPair(t, localPolicy(), 1)
	buildFilter(t, x.there.inside().existence)
	mustInvalidateAll(t, x.one.Client)
	x.two.deliver(t.Context())
	if x.there.inside().existence.built() {
		t.Error("the guard is still in use")
	}
	if got, want := x.two.epoch.Load(), x.one.epoch.Load(); got != want || got == 0 {
		t.Errorf("epoch %d, want %d", got, want)
	}
}

// A process that learns which epoch it is has missed nothing.
func TestLearningTheEpochKeepsTheFilter(t *testing.T) {
	x := newPair(t, localPolicy(), 1)
	buildFilter(t, x.there.inside().existence)
	mustRefreshEpoch(t, x.two.Client)
	if !x.there.inside().existence.built() {
		t.Error("the guard is gone")
	}
}

// One that cannot hear asks for itself.
func TestProcessOutOfSyncReadsTheEpoch(t *testing.T) {
	x := newPair(t, localPolicy(), 1)
	x.two.ensureEpoch(t.Context())
	first := x.two.epoch.Load()
	mustInvalidateAll(t, x.one.Client)
	x.two.ensureEpoch(t.Context())
	if got := x.two.epoch.Load(); got != first {
		t.Errorf("in sync: epoch %d, want %d until it is heard", got, first)
	}
	x.two.advance(time.Second)
	x.two.ensureEpoch(t.Context())
	if got, want := x.two.epoch.Load(), x.one.epoch.Load(); got != want {
		t.Errorf("out of sync: epoch %d, want %d", got, want)
	}
}

// Everything misses at once, and the database gets as much as it can take.
func TestInvalidateAllRespectsMaxLoads(t *testing.T) {
	const keys, most = 200, 8
	w, rows, load := miniWorld(t), newTable(slices.Collect(numbers(keys))...), new(concurrency)
	h := w.process(t)
	mustRefreshEpoch(t, h)
	c := rowsOf(h, Policy{MaxLoads: most}, func(ctx context.Context, ids []int) (map[int]row, error) {
		load.enter()
		defer load.leave()
		_ = clock.Sleep(ctx, time.Millisecond) // what a query takes
		return rows.load(ctx, ids)
	})
	for id := range keys {
		mustGet(t, c, id)
	}
	mustInvalidateAll(t, h)
	before := len(rows.loads())
	var all sync.WaitGroup
	for id := range keys {
		all.Go(func() {
			if _, err := c.Get(t.Context(), id); err != nil && !errors.Is(err, ErrNotFound) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := load.maximum(); got > most || got < 2 {
		t.Errorf("%d loader calls at once, want 2 to %d", got, most)
	}
	if got := len(rows.loads()) - before; got != keys {
		t.Errorf("%d loads, want one of each key", got)
	}
}
