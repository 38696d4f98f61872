package cache

import (
	"context"
	"errors"
	"iter"
	"testing"
	"time"
)

// Each test excludes a former fault, which its comment describes.

// A reader joined a flight whose load was cancelled because its readers left.
func TestCancelledLoadIsNotJoined(t *testing.T) {
	w := miniWorld(t)
	h := w.process(t)
	c := rowsOf(h, Policy{Name: "row"}, newTable(1).load)
	wn := c.inside().want(1)
	wn.direct = true
	waiters, own, started := c.inside().flights.join(t.Context(), []want[int]{wn})
	c.inside().flights.leave(waiters[0]) // the first reader leaves before its goroutine runs
	if started.ctx.Err() == nil {
		t.Fatal("not cancelled")
	}
	got := make(chan error, 1)
	go func() { // another reader
		found := map[int]*row{}
		_, err := c.inside().loadMissing(t.Context(), []want[int]{wn}, found)
		got <- err
	}()
	for {
		c.inside().flights.mu.Lock()
		n := started.readers
		c.inside().flights.mu.Unlock()
		if n == 1 {
			break
		}
		select {
		case err := <-got:
			if err != nil {
				t.Fatal(err)
			}
			return // it did not join
		case <-time.After(time.Millisecond):
		}
	}
	c.inside().runLoad(started, own)
	if err := <-got; err != nil {
		t.Errorf("other reader: got error %v, want none", err)
	}
}

// A share of a few bytes stores nothing and does not panic.
func TestTinyLocalShareStoresNothing(t *testing.T) {
	w := miniWorld(t)
	h, err := NewClient(w.rdb, Options{Prefix: "x", LocalBytes: 50, SingleProcess: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("panic: %v", p)
		}
	}()
	p := localPolicy()
	p.Local.Share = 0.01
	rowsOf(h, p, newTable(1).load)
}

// Limited counted parts instead of keys, and stale keys had no class.
func TestEveryKeyCountsOnce(t *testing.T) {
	w := miniWorld(t)
	x := w.manualClient(t, Options{ReadLimit: 1})
	c := rowsOf(x.Client, Policy{Name: "row"}, newTable(1).load)
	ctx := context.Background()
	for range 3 {
		_, err := c.GetMany(ctx, []int{1, 2, 3, 4})
		if err != nil && !errors.Is(err, ErrBusy) {
			t.Fatal(err)
		}
	}
	s := c.Stats()
	if sum := s.LocalHits + s.Excluded + s.Hits + s.NegativeHits + s.Misses + s.Limited; sum != 12 {
		t.Errorf("got %d counted keys of 12: %+v", sum, s)
	}
}

// An Invalidate that failed for its first 500 keys did not add the rest to the filter.
func TestFailedInvalidateStillUpdatesTheFilter(t *testing.T) {
	w := miniWorld(t)
	away := &outage{}
	x := w.manualClient(t, Options{SingleProcess: true}, away)
	rows := newTable(1)
	c := New(x.Client, Policy{Name: "row"}.withTestTimes(), Source[int, row]{
		Key: func(k int) string { return time.Duration(k).String() }, Load: rows.load,
		All: func(context.Context) iter.Seq2[int, error] { return func(func(int, error) bool) {} },
	})
	buildFilter(t, c.inside().existence)
	var ks []int
	for k := range 2000 {
		ks = append(ks, k)
	}
	away.on.Store(true)
	if err := c.Invalidate(t.Context(), ks...); err == nil {
		t.Fatal("got no error, want one")
	}
	n := 0
	for _, k := range ks {
		if c.inside().existence.excludes(k) {
			n++
		}
	}
	if n > 0 {
		t.Errorf("got %d of 2000 committed keys excluded, want none", n)
	}
}
