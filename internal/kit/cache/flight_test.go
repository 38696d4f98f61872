package cache

import (
	"context"
	"errors"
	"testing"
)

func TestFlights(t *testing.T) {
	cases := []struct {
		name string
		run  func(t *testing.T, w *world)
	}{
		{"a late joiner reads again after a refused store", laterReaderReadsAgain},
		{"an early joiner gets the value, stored or not", earlierReaderIsServed},
		{"a late joiner does not get the error", laterReaderGetsNoError},
		{"a load continues while one reader waits", loadGoesOnForOne},
		{"the end of a load leaves a later one", olderLoadLeavesTheYounger},
		{"a running load without lease is not joined", loadWithoutLeaseIsNotJoined},
	}
	onEach(t, func(t *testing.T, b *backend) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) { c.run(t, b.world(t)) })
		}
	})
}

func awaitWaits(t *testing.T, c *Cache[int, row], n int64) {
	t.Helper()
	eventually(t, "readers wait", func() bool { return c.Stats().Waits == n })
}

func laterReaderReadsAgain(t *testing.T, w *world) {
	rows := newTable(1)
	load, nextLoad := rows.pausing(t)
	here, there := cacheOf(w.process(t), load, Policy{}), cacheOf(w.process(t), rows.load, Policy{})
	first := getLater(t.Context(), here, 1)
	old := nextLoad()
	rows.commit(1)
	mustInvalidate(t, there, 1)
	later := getLater(t.Context(), here, 1)
	awaitWaits(t, here, 1)
	old.end <- nil
	if got := receive(t, first); got.row.Version != 1 {
		t.Errorf("the first reader got %v, want its own version 1", got)
	}
	nextLoad().end <- nil
	if got := receive(t, later); got.err != nil || got.row.Version != 2 {
		t.Errorf("the later reader got %v, want version 2", got)
	}
}

func earlierReaderIsServed(t *testing.T, w *world) {
	rows := newTable(1, 2)
	load, nextLoad := rows.pausing(t)
	here := cacheOf(w.process(t), load, Policy{MaxLoads: 1})
	there := cacheOf(w.process(t), rows.load, Policy{})
	holder := getLater(t.Context(), here, 2)
	held := nextLoad() // takes the only slot
	first := getLater(t.Context(), here, 1)
	eventually(t, "the first reader has a lease", func() bool {
		return w.rdb.Exists(t.Context(), leaseOf(here.inside().nameOf(1))).Val() == 1
	})
	joined := getLater(t.Context(), here, 1)
	awaitWaits(t, here, 1)
	held.end <- nil
	receive(t, holder)
	p := nextLoad()
	rows.commit(1)
	mustInvalidate(t, there, 1) // after both readers began
	p.end <- nil
	for _, reader := range []<-chan getResult{first, joined} {
		if got := receive(t, reader); got != (getResult{row: row{1, 1}}) {
			t.Errorf("got %v, want version 1", got)
		}
	}
	if got := here.Stats(); got.StoresRefused != 1 || got.LoadCalls != 2 {
		t.Errorf("%d stores refused and %d loads, want 1 and 2", got.StoresRefused, got.LoadCalls)
	}
}

func laterReaderGetsNoError(t *testing.T, w *world) {
	rows := newTable(1)
	load, nextLoad := rows.pausing(t)
	c := cacheOf(w.process(t), load, Policy{})
	first := getLater(t.Context(), c, 1)
	p := nextLoad()
	later := getLater(t.Context(), c, 1)
	awaitWaits(t, c, 1)
	p.end <- errDatabase
	if got := receive(t, first); !errors.Is(got.err, errDatabase) {
		t.Errorf("first reader: got %v, want the loader's error", got)
	}
	nextLoad().end <- nil
	if got := receive(t, later); got != (getResult{row: row{1, 1}}) {
		t.Errorf("later reader: got %v, want version 1", got)
	}
}

func loadGoesOnForOne(t *testing.T, w *world) {
	away := new(outage)
	x := w.manualClient(t, Options{MaxLoads: 1}, away)
	rows := newTable(1, 2)
	load, nextLoad := rows.pausing(t)
	c := cacheOf(x.Client, load, Policy{})
	away.on.Store(true) // loads cannot be stored now
	holder := getLater(t.Context(), c, 2)
	held := nextLoad()
	ctx, leave := context.WithCancel(t.Context())
	first := getLater(ctx, c, 1)
	eventually(t, "the first reader has a load", func() bool {
		c.inside().flights.mu.Lock()
		defer c.inside().flights.mu.Unlock()
		return c.inside().flights.byKey[1] != nil
	})
	joined := getLater(t.Context(), c, 1)
	awaitWaits(t, c, 1)
	leave()
	if got := receive(t, first); !errors.Is(got.err, context.Canceled) {
		t.Errorf("cancelled reader: got %v, want context.Canceled", got)
	}
	held.end <- nil
	receive(t, holder)
	p := nextLoad()
	if p.ctx.Err() != nil {
		t.Error("the load ended although a reader waits")
	}
	p.end <- nil
	if got := receive(t, joined); got != (getResult{row: row{1, 1}}) {
		t.Errorf("got %v, want version 1", got)
	}
}

func loadWithoutLeaseIsNotJoined(t *testing.T, w *world) {
	away := new(outage)
	x := w.manualClient(t, Options{}, away)
	rows := newTable(1)
	load, nextLoad := rows.pausing(t)
	c := cacheOf(x.Client, load, Policy{})
	away.on.Store(true)
	first := getLater(t.Context(), c, 1)
	old := nextLoad()
	rows.commit(1) // this process misses the invalidation
	second := getLater(t.Context(), c, 1)
	nextLoad().end <- nil
	if got := receive(t, second); got.row.Version != 2 {
		t.Errorf("got %v, want version 2", got)
	}
	old.end <- nil
	receive(t, first)
}

func olderLoadLeavesTheYounger(t *testing.T, w *world) {
	rows := newTable(1)
	load, nextLoad := rows.pausing(t)
	c := cacheOf(w.process(t), load, Policy{})
	first := getLater(t.Context(), c, 1)
	old := nextLoad()
	mustInvalidate(t, c, 1)
	second := getLater(t.Context(), c, 1)
	later := nextLoad()
	old.end <- nil
	receive(t, first)
	c.inside().flights.mu.Lock()
	joinable := c.inside().flights.byKey[1] != nil
	c.inside().flights.mu.Unlock()
	if !joinable {
		t.Error("the later load cannot be joined")
	}
	later.end <- nil
	receive(t, second)
}
