package cache

import (
	"context"
	"errors"
	"iter"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// filteredCache returns a cache of rows with an existence filter over the ids of the table, in
// a single process.
func filteredCache(t *testing.T, w *world, rows *table, all func(context.Context) iter.Seq2[int, error]) (*manualClient, *Cache[int, row], *commandCounter) {
	t.Helper()
	sent := new(commandCounter)
	x := w.manualClient(t, Options{SingleProcess: true}, sent)
	c := New(x.Client, Policy{Name: "row"}.withTestTimes(), Source[int, row]{
		Key: strconv.Itoa, Load: rows.load, All: all, Version: func(r row) int64 { return int64(r.Version) },
	})
	return x, c, sent
}

// ids yields a snapshot of the ids in the table.
func (t *table) ids(context.Context) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for id := range t.all() {
			if !yield(id, nil) {
				return
			}
		}
	}
}

func isAbsent(t *testing.T, c *Cache[int, row], id int) bool {
	t.Helper()
	_, err := c.Get(t.Context(), id)
	if err != nil && !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
	return err != nil
}

func TestExcludedKeyCostsNoRoundTrip(t *testing.T) {
	rows := newTable(1, 2)
	x, c, sent := filteredCache(t, miniWorld(t), rows, rows.ids)
	if !isAbsent(t, c, -1) {
		t.Fatal("got a row, want none")
	}
	if got := sent.reset(); got == "0 round trips, 0 of a single command" {
		t.Error("excluded before the filter was built")
	}
	c.inside().maintain(t.Context())
	x.Wait()
	const n = 1000
	for id := -n; id < 0; id++ {
		if !isAbsent(t, c, id) {
			t.Fatalf("got row %d, want none", id)
		}
	}
	if got := c.Stats().Excluded; got < n*9/10 || len(rows.loads()) > n/10 {
		t.Errorf("got %d of %d keys excluded with %d loads, want 90%% and at most 10%%", got, n, len(rows.loads()))
	}
	var none []int
	for id := -n; id < 0; id++ {
		if c.inside().existence.excludes(id) {
			none = append(none, id)
		}
	}
	sent.reset()
	before := c.Stats().Excluded
	if got, err := c.GetMany(t.Context(), none); err != nil || len(got) != 0 {
		t.Error(got, err)
	}
	if got := sent.reset(); got != "0 round trips, 0 of a single command" {
		t.Errorf("%d excluded keys: got %s, want none", len(none), got)
	}
	got, err := c.GetMany(t.Context(), append(none, 1, 2))
	if diff := cmp.Diff(rows.all(), got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if got := c.Stats().Excluded - before; got != int64(2*len(none)) {
		t.Errorf("got %d excluded, want %d", got, 2*len(none))
	}
}

func TestFilterExcludesNothingAfterMissedInserts(t *testing.T) {
	w := miniWorld(t)
	rows := newTable(1)
	x, c, _ := filteredCache(t, w, rows, rows.ids)
	c.inside().maintain(t.Context())
	x.Wait()
	added := 2
	for !c.inside().existence.excludes(added) {
		added++
	}
	rows.commit(added) // this process misses the insert
	if !isAbsent(t, c, added) {
		t.Fatal("found in sync: inconclusive")
	}
	if _, err := c.Get(SkipLocal(t.Context()), added); err != nil {
		t.Errorf("SkipLocal: got error %v, want the row", err)
	}
	if got, err := c.GetMany(SkipLocal(t.Context()), []int{added}); err != nil || len(got) != 1 {
		t.Errorf("SkipLocal, GetMany: got %v, %v, want the row", got, err)
	}
	x.clock.synced.Store(0)
	if isAbsent(t, c, added) {
		t.Error("excluded out of sync")
	}
}

func TestFilterIsBuiltOnlyInSync(t *testing.T) {
	rows := newTable(1)
	x, c, _ := filteredCache(t, miniWorld(t), rows, rows.ids)
	x.clock.synced.Store(0)
	c.inside().maintain(t.Context())
	x.Wait()
	if c.inside().existence.filter.Load() != nil {
		t.Error("built out of sync")
	}
	x.inSyncFor(1)
	c.inside().maintain(t.Context())
	x.Wait()
	if c.inside().existence.filter.Load() == nil {
		t.Error("not built in sync")
	}
	first := c.inside().existence.filter.Load()
	c.inside().maintain(t.Context())
	x.Wait()
	if c.inside().existence.filter.Load() != first {
		t.Error("rebuilt without need")
	}
}

// A19: the filter never misses an insert, at any time.
func TestFilterKnowsInserts(t *testing.T) {
	writes := map[string]func(t *testing.T, c *Cache[int, row], r row){
		"Invalidate": func(t *testing.T, c *Cache[int, row], r row) { mustInvalidate(t, c, r.ID) },
		"Put":        func(t *testing.T, c *Cache[int, row], r row) { mustPut(t, c, r) },
	}
	for name, write := range writes {
		t.Run(name, func(t *testing.T) {
			rows := newTable(1)
			reading, proceed := make(chan struct{}), make(chan error)
			slowly := func(ctx context.Context) iter.Seq2[int, error] {
				return func(yield func(int, error) bool) {
					snapshot := rows.ids(ctx)
					var ids []int
					for id := range snapshot {
						ids = append(ids, id)
					}
					reading <- struct{}{}
					if err := <-proceed; err != nil {
						yield(0, err)
						return
					}
					for _, id := range ids {
						if !yield(id, nil) {
							return
						}
					}
				}
			}
			x, c, _ := filteredCache(t, miniWorld(t), rows, slowly)
			insert := func(when string) {
				for range 50 {
					id := len(rows.all()) + 1
					write(t, c, rows.commit(id))
					if isAbsent(t, c, id) {
						t.Errorf("%s: row %d is absent, want it found", when, id)
					}
				}
			}
			allThere := func(when string) {
				t.Helper()
				for id := range rows.all() {
					if c.inside().excludes(t.Context(), id) {
						t.Errorf("%s: row %d is excluded", when, id)
					}
				}
			}
			build := func(failure error) {
				x.advance(10 * time.Minute)
				if c.inside().existence.filter.Load() != nil {
					c.inside().existence.filter.Load().keys.Store(1 << 40) // requires a rebuild
				}
				c.inside().maintain(t.Context())
				receive(t, reading)
				c.inside().maintain(t.Context()) // starts no second build
				insert("during a build")
				proceed <- failure
				x.Wait()
				allThere("after a build")
			}
			insert("before the first build")
			build(nil)
			first := c.inside().existence.filter.Load()
			insert("after a build")
			build(errDatabase)
			if c.inside().existence.filter.Load() != first {
				t.Error("a failed build replaced the filter")
			}
			insert("after a failed build")
			build(nil)
			if c.inside().existence.filter.Load() == first {
				t.Error("no build after a failed one")
			}
			insert("at the end")
			allThere("at the end")
		})
	}
}

func TestFailedFilterBuildIsAnError(t *testing.T) {
	g := newExistenceFilter(func(context.Context) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			if yield(1, nil) {
				yield(0, errDatabase)
			}
		}
	})
	if !g.startBuild() || g.startBuild() {
		t.Error("startBuild must succeed exactly once")
	}
	if err := g.build(t.Context()); !errors.Is(err, errDatabase) {
		t.Errorf("got %v, want errDatabase", err)
	}
	if g.filter.Load() != nil {
		t.Error("a partial filter is in use")
	}
	if !g.startBuild() {
		t.Error("startBuild failed after a failed build")
	}
}

func countTo(n int) func(context.Context) iter.Seq2[int, error] {
	return func(context.Context) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := range n {
				if !yield(i, nil) {
					return
				}
			}
		}
	}
}

func buildFilter(t *testing.T, g *existenceFilter[int]) {
	t.Helper()
	if !g.startBuild() {
		t.Fatal("another build is running")
	}
	if err := g.build(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// The rate is measured at full capacity.
func TestFilterPassesOnePercentOfAbsentKeys(t *testing.T) {
	const keys, probes = 100_000, 200_000
	g := newExistenceFilter(countTo(keys))
	buildFilter(t, g)
	for i := keys; i < keys+keys/4+1000; i++ { // to its capacity
		g.add(i)
	}
	if f := g.filter.Load(); g.needsBuild() || f.keys.Load() < f.capacity*98/100 {
		t.Errorf("got %d keys at capacity %d, want them about equal and no build needed", f.keys.Load(), f.capacity)
	}
	for i := range keys + keys/4 + 1000 {
		if g.excludes(i) {
			t.Fatalf("key %d is excluded", i)
		}
	}
	passed := 0
	for i := range probes {
		if !g.excludes(-1 - i) {
			passed++
		}
	}
	if got := float64(passed) / probes; got < 0.007 || got > 0.013 {
		t.Errorf("got %.4f of absent keys passed, want about %v", got, falsePositives)
	}
}

func TestFilterIsRebuiltAboveItsCapacity(t *testing.T) {
	const keys = 1000
	g := newExistenceFilter(countTo(keys))
	if !g.needsBuild() {
		t.Error("a missing filter needs no build")
	}
	buildFilter(t, g)
	added := keys
	for ; !g.needsBuild() && added < 10*keys; added++ {
		g.add(added)
	}
	if added < keys+keys/4+1000 || added > keys+keys/4+1100 {
		t.Errorf("needsBuild at %d keys, want a quarter and a thousand more than %d", added, keys)
	}
}

func TestKnownKeysDoNotFillTheFilter(t *testing.T) {
	g := newExistenceFilter(countTo(1000))
	buildFilter(t, g)
	for range 10 {
		for i := range 1000 {
			g.add(i)
		}
	}
	if g.needsBuild() {
		t.Error("known keys caused a rebuild")
	}
}

// A19b: a filter forgets nothing, so deleted keys pass. It measures these reads and is
// rebuilt.
func TestDeletedKeysCauseAFilterRebuild(t *testing.T) {
	const keys, again = 4000, 5 // enough for a measurement
	rows := newTable()
	for id := range keys {
		rows.rows[id] = row{ID: id, Version: 1}
	}
	x, c, _ := filteredCache(t, miniWorld(t), rows, rows.ids)
	c.inside().maintain(t.Context())
	x.Wait()
	first := c.inside().existence.filter.Load()
	var deleted []int
	rows.mu.Lock()
	for id := range keys / 2 {
		delete(rows.rows, id)
		deleted = append(deleted, id)
	}
	rows.mu.Unlock()
	mustInvalidate(t, c, deleted...)
	read := func() (passed int) {
		t.Helper()
		before := c.Stats().Excluded
		for range again {
			if got, err := c.GetMany(t.Context(), deleted); err != nil || len(got) != 0 {
				t.Fatal(got, err)
			}
		}
		return again*len(deleted) - int(c.Stats().Excluded-before)
	}
	if got := read(); got != again*len(deleted) || got < measuredKeys {
		t.Errorf("%d of %d reads of deleted keys passed: inconclusive", got, again*len(deleted))
	}
	x.advance(minBuildInterval)
	c.inside().maintain(t.Context())
	x.Wait()
	if c.inside().existence.filter.Load() == first {
		t.Fatal("not rebuilt")
	}
	if got := read(); got > again*len(deleted)*3/100 {
		t.Errorf("%d of %d reads of deleted keys passed the new filter", got, again*len(deleted))
	}
	second := c.inside().existence.filter.Load()
	x.advance(minBuildInterval)
	c.inside().maintain(t.Context())
	x.Wait()
	if c.inside().existence.filter.Load() != second {
		t.Error("rebuilt although it excludes enough")
	}
	if c.inside().existence.excluded.Load() > 0 {
		t.Error("a measurement without problems was not reset")
	}
}

// Absent keys with a negative record in Redis count too.
func TestFilterMeasuresNegativeHits(t *testing.T) {
	rows := newTable(1)
	x, c, _ := filteredCache(t, miniWorld(t), rows, rows.ids)
	c.inside().maintain(t.Context())
	x.Wait()
	c.inside().existence.add(2) // of an insert that was rolled back
	for range 5 {
		if !isAbsent(t, c, 2) {
			t.Fatal("got a row, want none")
		}
	}
	if got := c.inside().existence.passed.Load(); got != 5 {
		t.Errorf("got %d passed keys, want 5", got)
	}
}

// Writers commit and then update the filter, which is rebuilt all the time: no row is ever
// excluded. Run it with the race detector too.
func TestFilterIsSafeForConcurrentUse(t *testing.T) {
	const writers, each = 4, 500
	rows := newTable()
	g := newExistenceFilter(rows.ids)
	buildFilter(t, g)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				id := each*w + i
				rows.commit(id)
				if g.add(id); g.excludes(id) {
					t.Errorf("row %d is excluded", id)
					return
				}
			}
		})
	}
	all.Go(func() {
		for range 100 {
			buildFilter(t, g)
			g.needsBuild()
			g.foundAbsent()
		}
	})
	all.Wait()
	for id := range rows.all() {
		if g.excludes(id) {
			t.Errorf("row %d is excluded at the end", id)
		}
	}
}

// An insert that the filter missed, because its writer stopped after the commit, is hidden for
// at most ten minutes.
func TestFilterIsRebuiltPeriodically(t *testing.T) {
	rows := newTable(1)
	x, c, _ := filteredCache(t, miniWorld(t), rows, rows.ids)
	c.inside().maintain(t.Context())
	x.Wait()
	rows.commit(2)
	if !c.inside().excludes(t.Context(), 2) {
		t.Fatal("the filter knows it: inconclusive")
	}
	x.advance(maxBuildInterval)
	c.inside().maintain(t.Context())
	x.Wait()
	if c.inside().excludes(t.Context(), 2) {
		t.Error("the row is still hidden")
	}
}
