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

// The message of a new epoch also affects a process that knew none: its filter may have missed
// inserts.
func TestFirstEpochMessageDropsTheFilter(t *testing.T) {
	x := newPair(t, localPolicy(), 1)
	buildFilter(t, x.there.inside().existence)
	mustInvalidateAll(t, x.one.Client)
	x.two.deliver(t.Context())
	if x.there.inside().existence.built() {
		t.Error("the filter is still in use")
	}
	if got, want := x.two.epoch.Load(), x.one.epoch.Load(); got != want || got == 0 {
		t.Errorf("epoch %d, want %d", got, want)
	}
}

// A process that reads the current epoch has missed nothing.
func TestLearningTheEpochKeepsTheFilter(t *testing.T) {
	x := newPair(t, localPolicy(), 1)
	buildFilter(t, x.there.inside().existence)
	mustRefreshEpoch(t, x.two.Client)
	if !x.there.inside().existence.built() {
		t.Error("the filter is missing")
	}
}

func TestProcessOutOfSyncReadsTheEpoch(t *testing.T) {
	x := newPair(t, localPolicy(), 1)
	x.two.ensureEpoch(t.Context())
	first := x.two.epoch.Load()
	mustInvalidateAll(t, x.one.Client)
	x.two.ensureEpoch(t.Context())
	if got := x.two.epoch.Load(); got != first {
		t.Errorf("in sync: got epoch %d, want %d before the message", got, first)
	}
	x.two.advance(time.Second)
	x.two.ensureEpoch(t.Context())
	if got, want := x.two.epoch.Load(), x.one.epoch.Load(); got != want {
		t.Errorf("out of sync: got epoch %d, want %d", got, want)
	}
}

// Everything misses at once, and MaxLoads protects the database.
func TestInvalidateAllRespectsMaxLoads(t *testing.T) {
	const keys, limit = 200, 8
	w, rows, load := miniWorld(t), newTable(slices.Collect(numbers(keys))...), new(concurrency)
	h := w.process(t)
	mustRefreshEpoch(t, h)
	c := rowsOf(h, Policy{MaxLoads: limit}, func(ctx context.Context, ids []int) (map[int]row, error) {
		load.enter()
		defer load.leave()
		_ = clock.Sleep(ctx, time.Millisecond) // duration of a query
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
	if got := load.maximum(); got > limit || got < 2 {
		t.Errorf("got %d concurrent loader calls, want 2 to %d", got, limit)
	}
	if got := len(rows.loads()) - before; got != keys {
		t.Errorf("got %d loads, want one per key", got)
	}
}
