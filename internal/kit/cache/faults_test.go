package cache

// Each test excludes a former fault, which its comment describes.

import (
	"context"
	"errors"
	"iter"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/time/rate"
)

// A reader joined a flight of an older generation and got a list of that generation.
func TestReaderDoesNotJoinAnOlderGeneration(t *testing.T) {
	w := miniWorld(t)
	rows := newTable(1)
	load, nextLoad := pausingList(t, rows)
	_, loading := queriesOf(w.process(t), load)
	_, here := queriesOf(w.process(t), rows.list)
	writer, _ := queriesOf(w.process(t), rows.list)

	first := listLater(t.Context(), loading, query{1, 10})
	release := nextLoad() // holds the lease, has read the table
	second := listLater(t.Context(), here, query{1, 10})
	eventually(t, "a reader waits for the lease", func() bool { return here.lists.Stats().Waits == 1 })
	rows.commit(2)
	mustInvalidateTable(t, writer)
	third := listLater(t.Context(), here, query{1, 10}) // begins after the write
	eventually(t, "another reader joined it", func() bool { return here.lists.Stats().Waits == 2 })
	close(release)
	receive(t, first)
	receive(t, second)
	if diff := cmp.Diff([]int{1, 2}, receive(t, third).ids); diff != "" {
		t.Error("reader after the write", diff)
	}
}

// With StaleIfError, SkipLocal returned a local entry when Redis failed or its read limit
// refused.
func TestSkipLocalNeverReturnsAStaleEntry(t *testing.T) {
	cases := map[string]func(x *manualClient, away *outage){
		"Redis unavailable": func(_ *manualClient, away *outage) { away.on.Store(true) },
		"read limit":        func(x *manualClient, _ *outage) { x.reads = rate.NewLimiter(0, 0) },
	}
	for name, refuse := range cases {
		t.Run(name, func(t *testing.T) {
			w := miniWorld(t)
			away := new(outage)
			x := w.manualClient(t, Options{LocalBytes: 1 << 20}, away)
			p := localPolicy()
			p.StaleIfError = time.Hour
			rows := newTable(1)
			c, there := rowsOf(x.Client, p, rows.load), cacheOf(w.process(t), rows.load, Policy{})
			mustGet(t, c, 1)
			rows.commit(1)
			mustInvalidate(t, there, 1)
			refuse(x, away)
			if r, err := c.Get(SkipLocal(t.Context()), 1); err == nil && r.Version != 2 {
				t.Errorf("Get: version %d, want 2 or an error", r.Version)
			}
			if m, err := c.GetMany(SkipLocal(t.Context()), []int{1}); err == nil && m[1].Version != 2 {
				t.Errorf("GetMany: version %d, want 2 or an error", m[1].Version)
			}
		})
	}
}

// Every key without a value was treated as unreadable, even if Redis reported its absence.
func TestStaleEntryDoesNotReplaceKnownAbsence(t *testing.T) {
	w := miniWorld(t)
	x := w.manualClient(t, Options{LocalBytes: 1 << 20})
	p := localPolicy()
	p.Local.Criteria &^= Hot
	p.StaleIfError = 3 * time.Hour
	var broken atomic.Bool
	rows := newTable(1, 2)
	c, there := rowsOf(x.Client, p, rows.failingAfter(&broken)), cacheOf(w.process(t), rows.load, Policy{})
	x.hot.add(c.inside().nameOf(1), 2*hotEnough)
	mustGet(t, c, 1)
	x.hot = newTopKeys() // no longer hot
	x.advance(2 * time.Second)
	rows.mu.Lock()
	delete(rows.rows, 1)
	rows.mu.Unlock()
	mustInvalidate(t, there, 1)
	if _, err := there.Get(t.Context(), 1); !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
	broken.Store(true)
	found, err := c.GetMany(t.Context(), []int{1, 2}) // 1 is absent in Redis, 2 cannot be loaded
	if diff := cmp.Diff(map[int]row{}, found); !errors.Is(err, errDatabase) || diff != "" {
		t.Error(err, diff)
	}
}

// An absent key has no stale entry, so its error remained although every key was answered.
func TestAbsentKeyDoesNotFailStaleReads(t *testing.T) {
	w := miniWorld(t)
	x := w.manualClient(t, Options{LocalBytes: 1 << 20, SingleProcess: true})
	p := localPolicy()
	p.StaleIfError = 3 * time.Hour
	var broken atomic.Bool
	c := rowsOf(x.Client, p, newTable(1).failingAfter(&broken))
	mustGet(t, c, 1)
	localHit(t, c, 9) // absent
	w.expire(t, c.inside().nameOf(1))
	broken.Store(true)
	x.advance(time.Hour)
	found, err := c.GetMany(t.Context(), []int{1, 9})
	if diff := cmp.Diff(map[int]row{1: {1, 1}}, found); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// An entry from before Run had the highest readAt: it expired after TTL and could never be
// replaced. Run starts the clock in parallel with Warm.
func TestEntryFromBeforeRunCanBeReplaced(t *testing.T) {
	w := miniWorld(t)
	x := w.manualClient(t, Options{LocalBytes: 1 << 20, SingleProcess: true})
	x.clock.start(true)
	rows := newTable(1)
	load, nextLoad := rows.pausing(t)
	p := localPolicy()
	p.StaleTTL = time.Hour
	warm, c := rowsOf(w.process(t), p, rows.load), rowsOf(x.Client, p, load)
	mustGet(t, warm, 1)
	late := c.inside().want(1) // while the clock is stopped
	r := c.inside().fetch(t.Context(), late.name)
	x.advance(0) // Run
	c.inside().handleReply(t.Context(), &late, r)
	x.advance(p.TTL + time.Minute) // it has expired
	mustGet(t, c, 1)
	nextLoad().end <- nil // the refresh
	x.Wait()
	if !localHit(t, c, 1) {
		t.Error("the refreshed value is not stored")
	}
}

// Before Run the time of the client is its maximum, so every pin had ended. Run starts the
// clock in parallel with the maintenance.
func TestPinBeforeRunIsKept(t *testing.T) {
	x := miniWorld(t).manualClient(t, Options{LocalBytes: 1 << 20, SingleProcess: true})
	x.clock.start(true)
	c := rowsOf(x.Client, localPolicy(), newTable(1).load)
	if err := c.Pin(t.Context(), time.Now().Add(time.Hour), 1); err != nil {
		t.Fatal(err)
	}
	c.inside().maintain(t.Context()) // as Run does at its start
	x.advance(0)
	c.inside().maintain(t.Context())
	if _, _, ok := c.inside().local.get(1); !ok {
		t.Error("the pinned entry is missing")
	}
}

// A pinned entry that was about to expire was read from Redis, which has the same record.
// Nothing reloaded it before, and readers waited.
func TestPinnedEntryIsRefreshedBeforeItExpires(t *testing.T) {
	for name, grace := range map[string]time.Duration{"with StaleTTL": time.Hour, "without": 0} {
		t.Run(name, func(t *testing.T) {
			x := miniWorld(t).manualClient(t, Options{LocalBytes: 1 << 20, SingleProcess: true})
			p := localPolicy()
			p.StaleTTL = grace
			rows := newTable(1)
			c := rowsOf(x.Client, p, rows.load)
			if err := c.Pin(t.Context(), time.Now().Add(10*time.Hour), 1); err != nil {
				t.Fatal(err)
			}
			x.advance(p.TTL - maintainEvery)
			c.inside().maintain(t.Context())
			x.Wait()
			x.advance(maintainEvery)
			if _, _, ok := c.inside().local.get(1); !ok || len(rows.loads()) != 2 {
				t.Errorf("got entry: %v, with %d loads, want true and 2", ok, len(rows.loads()))
			}
		})
	}
}

// A loader that ended its goroutine held its slot forever, and its lease until it expired.
func TestExitedLoaderReleasesSlotAndLease(t *testing.T) {
	w := miniWorld(t)
	x := w.manualClient(t, Options{})
	c := rowsOf(x.Client, Policy{MaxLoads: 1}, func(context.Context, []int) (map[int]row, error) {
		runtime.Goexit()
		return nil, nil
	})
	if _, err := c.Get(t.Context(), 1); !errors.Is(err, errExited) {
		t.Fatal(err)
	}
	x.Wait()
	if !c.inside().slots.TryAcquire(1) {
		t.Error("the slot is not free")
	}
	if n := w.rdb.Exists(t.Context(), leaseOf(c.inside().nameOf(1))).Val(); n != 0 {
		t.Error("the lease still exists")
	}
}

// The expiry of a local entry was computed from the writer's clock without a bound. With a
// clock an hour ahead, an entry of ten minutes lived for seventy. It must expire at most TTL
// after its read.
func TestLocalEntryExpiresDespiteWriterClockSkew(t *testing.T) {
	w := miniWorld(t)
	rows := newTable(1)
	warmup, x := w.manualClient(t, Options{}), w.manualClient(t, Options{LocalBytes: 1 << 20, SingleProcess: true})
	warmup.advance(time.Hour)
	p := localPolicy()
	p.TTL = 10 * time.Minute
	c := rowsOf(x.Client, p, rows.load)
	mustGet(t, rowsOf(warmup.Client, p, rows.load), 1)
	mustGet(t, c, 1)
	x.advance(p.TTL)
	if _, _, ok := c.inside().local.get(1); ok {
		t.Error("entry is valid after TTL")
	}
}

// Absent keys that were read past the filter, with SkipLocal or out of sync, counted as passed
// by it.
func TestFilterMeasuresOnlyItsOwnReads(t *testing.T) {
	rows := newTable(1)
	x, c, _ := filteredCache(t, miniWorld(t), rows, rows.ids)
	c.inside().maintain(t.Context())
	x.Wait()
	absent := -1
	for !c.inside().existence.excludes(absent) {
		absent--
	}
	c.inside().existence.resetMeasurement()
	for range 5 {
		_, _ = c.Get(SkipLocal(t.Context()), absent)
	}
	x.clock.synced.Store(0)
	for range 5 {
		_, _ = c.Get(t.Context(), absent)
	}
	if got := c.inside().existence.passed.Load(); got != 0 {
		t.Errorf("got %d passed keys, want none: the filter excludes them", got)
	}
}

// With a failing database, the build read all keys each second.
func TestFailedFilterBuildIsNotRetriedAtOnce(t *testing.T) {
	calls := 0
	rows := newTable(1)
	x, c, _ := filteredCache(t, miniWorld(t), rows, func(context.Context) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			calls++
			yield(0, errDatabase)
		}
	})
	for range 5 {
		c.inside().maintain(t.Context())
		x.Wait()
		x.advance(maintainEvery)
	}
	if calls > 2 {
		t.Errorf("got %d reads of all keys in five seconds, want at most 2", calls)
	}
}

// A reader whose deadline passed got stale values without an error, although Redis worked.
func TestCancelledReadGetsNoStaleValues(t *testing.T) {
	w := miniWorld(t)
	x := w.manualClient(t, Options{LocalBytes: 1 << 20})
	p := localPolicy()
	p.StaleIfError = time.Hour
	rows := newTable(1)
	c := rowsOf(x.Client, p, rows.load)
	mustGet(t, c, 1)
	x.advance(2 * time.Second)
	cancelled, leave := context.WithCancel(t.Context())
	leave()
	if got, err := c.GetMany(cancelled, []int{1}); !errors.Is(err, context.Canceled) {
		t.Errorf("GetMany: %v, %v, want context.Canceled as Get returns", got, err)
	}
}

// A reader that had to read again lost its generation. Its list was stored under none, and the
// next reader loaded again.
func TestListOfASecondReaderIsStored(t *testing.T) {
	w := miniWorld(t)
	rows := newTable(1)
	loads := make(chan chan error)
	var calls atomic.Int64
	_, lists := queriesOf(w.process(t), func(ctx context.Context, s query) ([]int, error) {
		if calls.Add(1) == 1 {
			end := make(chan error)
			loads <- end
			return nil, <-end
		}
		return rows.list(ctx, s)
	})
	first := listLater(t.Context(), lists, query{1, 10})
	end := receive(t, loads)
	later := listLater(t.Context(), lists, query{1, 10})
	eventually(t, "another reader joined it", func() bool { return lists.lists.Stats().Waits == 1 })
	end <- errDatabase
	receive(t, first)
	receive(t, later)
	mustList(t, lists, query{1, 10}, 1)
	if got := calls.Load(); got != 2 {
		t.Errorf("got %d queries, want the failed one and one more", got)
	}
}

// Only panics of the loader were recovered. Version and MarshalJSON of the value run in the
// same goroutine, which is not the reader's.
func TestVersionPanicDoesNotEndTheProcess(t *testing.T) {
	if os.Getenv("TANDIAN_TEST_PANIC") == "" {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=20s")
		child.Env = append(os.Environ(), "TANDIAN_TEST_PANIC=1")
		if out, err := child.CombinedOutput(); err != nil {
			t.Errorf("the process ended: %v\n%.300s", err, out)
		}
		return
	}
	rows := newTable(1)
	c := New(miniWorld(t).process(t), Policy{Name: "row"}.withTestTimes(), Source[int, row]{
		Key: strconv.Itoa, Load: rows.load, Version: func(row) int64 { panic("no version") },
	})
	if _, err := c.Get(t.Context(), 1); err == nil {
		t.Error("got no error, want one")
	}
}
