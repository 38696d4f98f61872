package cache

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/testkit"
)

// logical returns a policy of logical expiry: fresh for a minute, stale for an hour.
func logical() Policy { return Policy{TTL: time.Minute, StaleTTL: time.Hour, Jitter: -1} }

func TestLogicalExpiry(t *testing.T) {
	cases := []struct {
		name string
		run  func(t *testing.T, w *world)
	}{
		{"a refresh blocks no reader", refreshBlocksNoReader},
		{"two processes refresh once", processesRefreshOnce},
		{"a refresh of a replaced record loads nothing", lateRefreshLoadsNothing},
		{"a cold key is loaded (A20)", coldKeyIsLoaded},
		{"failing refreshes end with StaleTTL (A21)", failingRefreshEnds},
		{"GetMany refreshes stale keys in one call", refreshOfManyIsOneCall},
		{"without StaleTTL values expire after TTL", withoutStaleTTLValuesExpire},
		{"an early refresh runs once (XFetch)", earlyRefreshIsOneLoad},
		{"clock skew shifts soft expiry only (A28)", skewMovesSoftExpiryAlone},
		{"clock skew does not affect invalidation (A28)", skewDoesNotTouchInvalidation},
		{"a refresh without a row stores the absence", refreshFindsNoRow},
	}
	onEach(t, func(t *testing.T, b *backend) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) { c.run(t, b.world(t)) })
		}
	})
}

func refreshBlocksNoReader(t *testing.T, w *world) {
	rows := newTable(1)
	load, nextLoad := rows.pausing(t)
	x := w.manualClient(t, Options{})
	here := rowsOf(x.Client, logical(), load)
	mustGet(t, rowsOf(w.process(t), logical(), rows.load), 1)
	x.advance(time.Minute - time.Second)
	mustGet(t, here, 1)
	if diff := cmp.Diff(Stats{Name: "row", Hits: 1}, here.Stats()); diff != "" {
		t.Error("before expiry", diff)
	}
	x.advance(2 * time.Second)
	rows.commit(1)
	mustGet(t, here, 1)
	p := nextLoad() // pauses the refresh
	for range 20 {
		if got := mustGet(t, here, 1); got.Version != 1 {
			t.Fatalf("got %v, want version 1", got)
		}
		if got, err := here.GetMany(t.Context(), []int{1}); err != nil || got[1].Version != 1 {
			t.Fatalf("got %v, %v, want version 1", got, err)
		}
	}
	if _, ok := p.ctx.Deadline(); !ok {
		t.Error("the refresh has no deadline")
	}
	p.end <- nil
	x.Wait()
	if got := mustGet(t, here, 1); got.Version != 2 {
		t.Errorf("after the refresh: got version %d, want 2", got.Version)
	}
	if diff := cmp.Diff(Stats{Name: "row", Hits: 43, StaleServed: 41, Refreshes: 1, Loads: 1, LoadCalls: 1}, here.Stats()); diff != "" {
		t.Error(diff)
	}
}

func processesRefreshOnce(t *testing.T, w *world) {
	rows := newTable(1)
	load, nextLoad := rows.pausing(t)
	x, y := w.manualClient(t, Options{}), w.manualClient(t, Options{})
	here, there := rowsOf(x.Client, logical(), load), rowsOf(y.Client, logical(), rows.load)
	mustGet(t, there, 1)
	x.advance(2 * time.Minute)
	y.advance(2 * time.Minute)
	mustGet(t, here, 1)
	p := nextLoad()
	mustGet(t, there, 1)
	y.Wait() // found the lease taken
	if got := there.Stats(); got.Refreshes != 1 || got.Loads != 1 {
		t.Errorf("got %d refreshes and %d loads, want 1 and the first load", got.Refreshes, got.Loads)
	}
	p.end <- nil
	x.Wait()
	if got := len(rows.loads()); got != 2 {
		t.Errorf("got %d loads, want the first and one refresh", got)
	}
}

func lateRefreshLoadsNothing(t *testing.T, w *world) {
	rows := newTable(1)
	x, y := w.manualClient(t, Options{}), w.manualClient(t, Options{})
	here, there := rowsOf(x.Client, logical(), rows.load), rowsOf(y.Client, logical(), rows.load)
	mustGet(t, here, 1)
	x.advance(2 * time.Minute)
	y.advance(2 * time.Minute)
	late := there.inside().want(1)
	there.inside().handleReply(t.Context(), &late, there.inside().fetch(t.Context(), late.name)) // decides on the stale record
	mustGet(t, here, 1)
	x.Wait() // has replaced the record
	there.inside().refresh(t.Context(), []want[int]{late})
	y.Wait()
	if got := len(rows.loads()); got != 2 {
		t.Errorf("got %d loads, want the first and one refresh", got)
	}
	if got := there.Stats().Refreshes; got != 1 {
		t.Errorf("got %d refreshes, want 1", got)
	}
}

func coldKeyIsLoaded(t *testing.T, w *world) {
	c := rowsOf(w.process(t), logical(), newTable(1).load)
	for range 2 {
		if diff := cmp.Diff(row{1, 1}, mustGet(t, c, 1)); diff != "" {
			t.Error(diff)
		}
	}
}

func failingRefreshEnds(t *testing.T, w *world) {
	var broken atomic.Bool
	rows := newTable(1)
	x := w.manualClient(t, Options{})
	c := rowsOf(x.Client, logical(), rows.failingAfter(&broken))
	mustGet(t, c, 1)
	if left := w.rdb.PTTL(t.Context(), c.inside().nameOf(1)).Val(); left > 61*time.Minute || left < 31*time.Minute {
		t.Errorf("got TTL %v, want TTL + StaleTTL", left)
	}
	broken.Store(true)
	x.advance(30 * time.Minute)
	for began, tries := time.Now(), int64(0); ; began = time.Now() {
		tries++
		eventually(t, "a refresh fails", func() bool { mustGet(t, c, 1); x.Wait(); return c.Stats().LoadErrors == tries })
		for failed := time.Now(); time.Since(failed) < 5*maxPause; { // much longer than the pause after a success
			mustGet(t, c, 1)
			x.Wait()
		}
		if failed := c.Stats().LoadErrors; time.Since(began) < refreshPause { // otherwise the machine was too slow
			if failed != tries {
				t.Errorf("got %d failed refreshes, want %d: a failure causes a pause", failed, tries)
			}
			break
		}
	}
	w.expire(t, c.inside().nameOf(1))
	if _, err := c.Get(t.Context(), 1); !errors.Is(err, errDatabase) {
		t.Errorf("after StaleTTL: got %v, want the loader's error", err)
	}
	broken.Store(false)
	mustGet(t, c, 1)
}

func refreshOfManyIsOneCall(t *testing.T, w *world) {
	rows := newTable(1, 2, 3)
	x := w.manualClient(t, Options{})
	c := rowsOf(x.Client, logical(), rows.load)
	ids := []int{1, 2, 3}
	for range 2 {
		if got, err := c.GetMany(t.Context(), ids); err != nil || len(got) != 3 {
			t.Fatal(got, err)
		}
		x.Wait()
		x.advance(2 * time.Minute)
	}
	if diff := cmp.Diff([][]int{ids, ids}, rows.loads()); diff != "" {
		t.Error("loads", diff)
	}
}

func withoutStaleTTLValuesExpire(t *testing.T, w *world) {
	p := logical()
	p.StaleTTL = 0
	c := rowsOf(w.process(t), p, newTable(1).load)
	mustGet(t, c, 1)
	if left := w.rdb.PTTL(t.Context(), c.inside().nameOf(1)).Val(); left > time.Minute || left <= 0 {
		t.Errorf("got TTL %v, want at most a minute", left)
	}
}

func earlyRefreshIsOneLoad(t *testing.T, w *world) {
	rows := newTable(1)
	load, nextLoad := rows.pausing(t)
	p := logical()
	x, y := w.manualClient(t, Options{}), w.manualClient(t, Options{})
	plain := rowsOf(w.manualClient(t, Options{}).Client, p, rows.load)
	p.Beta = 1e9 // any load duration triggers a refresh
	here, there := rowsOf(x.Client, p, load), rowsOf(y.Client, p, load)
	payload, err := json.Marshal(row{1, 1})
	if err != nil {
		t.Fatal(err)
	}
	record := append(header{created: time.Now(), soft: time.Minute, delta: time.Second, version: 1}.appendTo(nil), payload...)
	if err := w.rdb.Set(t.Context(), here.inside().nameOf(1), record, time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	mustGet(t, plain, 1)
	if got := plain.Stats().Refreshes; got != 0 {
		t.Errorf("got %d refreshes without Beta, want none", got)
	}
	mustGet(t, here, 1)
	loading := nextLoad()
	for range 5 {
		mustGet(t, here, 1)
		mustGet(t, there, 1)
		y.Wait()
	}
	loading.end <- nil
	x.Wait()
	if got := len(rows.loads()); got != 1 {
		t.Errorf("got %d loads, want 1", got)
	}
	if got := here.Stats(); got.StaleServed != 0 || got.Refreshes != 1 {
		t.Errorf("got %d stale served, %d refreshes, want 0 and 1", got.StaleServed, got.Refreshes)
	}
}

func skewMovesSoftExpiryAlone(t *testing.T, w *world) {
	const skew = 5 * time.Second
	for _, writer := range []time.Duration{-skew, 0, skew} {
		for _, reader := range []time.Duration{-skew, 0, skew} {
			rows := newTable(1)
			x, y := w.manualClient(t, Options{}), w.manualClient(t, Options{})
			y.began = x.began
			x.passed.Store(int64(writer))
			there, here := rowsOf(x.Client, logical(), rows.load), rowsOf(y.Client, logical(), rows.load)
			mustInvalidate(t, there, 1)
			mustGet(t, there, 1)
			if left := w.rdb.PTTL(t.Context(), there.inside().nameOf(1)).Val(); left > 61*time.Minute || left < 60*time.Minute {
				t.Errorf("clock skew %v: got TTL %v, want 61m", writer, left)
			}
			end := time.Minute + writer // true time since the write
			y.advance(end - 2*time.Millisecond)
			if mustGet(t, here, 1); here.Stats().StaleServed != 0 {
				t.Errorf("skew of writer %v, of reader %v: stale too early", writer, reader)
			}
			y.advance(2 * time.Millisecond)
			if mustGet(t, here, 1); here.Stats().StaleServed != 1 {
				t.Errorf("skew of writer %v, of reader %v: not stale in time", writer, reader)
			}
			y.Wait()
		}
	}
}

func skewDoesNotTouchInvalidation(t *testing.T, w *world) {
	rows := newTable(1)
	var caches []*Cache[int, row]
	for _, skew := range []time.Duration{-5 * time.Second, 0, 5 * time.Second} {
		x := w.manualClient(t, Options{})
		x.passed.Store(int64(skew))
		caches = append(caches, rowsOf(x.Client, Policy{TTL: time.Second, StaleTTL: time.Hour}, rows.load))
	}
	for i := range 9 {
		for _, c := range caches {
			mustGet(t, c, 1)
		}
		r := rows.commit(1)
		if i%2 == 0 {
			mustPut(t, caches[i%3], r)
		} else {
			mustInvalidate(t, caches[i%3], 1)
		}
		for _, c := range caches {
			if got := mustGet(t, c, 1); got != r {
				t.Errorf("got %v, want %v", got, r)
			}
		}
	}
}

func refreshFindsNoRow(t *testing.T, w *world) {
	rows := newTable(1)
	x := w.manualClient(t, Options{})
	c := rowsOf(x.Client, logical(), rows.load)
	mustGet(t, c, 1)
	rows.mu.Lock()
	delete(rows.rows, 1)
	rows.mu.Unlock()
	x.advance(2 * time.Minute)
	mustGet(t, c, 1)
	x.Wait()
	if _, err := c.Get(t.Context(), 1); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
}

// A refresh never takes a slot that readers wait for, and never loads what it could not store.
func TestRefreshYieldsToReaders(t *testing.T) {
	cases := []struct {
		name string
		o    Options
		own  bool // a load of the same policy holds the slot
		away bool // Redis fails after the read
	}{
		{name: "no slot of its policy", own: true},
		{name: "no slot of the process", o: Options{MaxLoads: 1}},
		{name: "no lease", away: true},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			w := miniWorld(t)
			away := new(outage)
			x := w.manualClient(t, test.o, away)
			p := logical()
			p.MaxLoads = 1
			rows := newTable(1, 2)
			load, nextLoad := rows.pausing(t)
			c := rowsOf(x.Client, p, load)
			other := c
			if !test.own {
				other = namedRows(x.Client, "other", load)
			}
			mustGet(t, rowsOf(w.process(t), p, rows.load), 1)
			x.advance(2 * time.Minute)
			if test.away {
				refreshed := c.inside().want(1)
				c.inside().handleReply(t.Context(), &refreshed, c.inside().fetch(t.Context(), refreshed.name))
				away.on.Store(true)
				c.inside().refresh(t.Context(), []want[int]{refreshed})
				x.Wait()
				if got := len(rows.loads()); got != 1 {
					t.Errorf("got %d loads, want only the first", got)
				}
				return
			}
			busy := getLater(t.Context(), other, 2)
			p2 := nextLoad()
			soon := false
			for range 3 { // tolerates a briefly busy machine
				began := time.Now()
				mustGet(t, c, 1)
				eventually(t, "the refresh has released its lease", func() bool {
					_, under := c.inside().refreshing.Load(1)
					return !under && w.rdb.Exists(t.Context(), leaseOf(c.inside().nameOf(1))).Val() == 0
				})
				soon = soon || time.Since(began) < refreshPause
			}
			if !soon || c.Stats().Refreshes != 3 {
				t.Errorf("got %d refreshes, without a pause: %v, want 3 and true", c.Stats().Refreshes, soon)
			}
			p2.end <- nil
			receive(t, busy)
			x.Wait()
			if diff := cmp.Diff([][]int{{1}, {2}}, rows.loads()); diff != "" {
				t.Error("loads", diff)
			}
			mustGet(t, c, 1) // the slot is free again
			nextLoad().end <- nil
		})
	}
}

func namedRows(h *Client, name string, load Loader[int, row]) *Cache[int, row] {
	return rowsOf(h, Policy{Name: name}, load)
}

// XFetch: a reader with a gap to the expiry refreshes with probability exp(−gap ÷
// (delta·beta)).
func TestXFetchMatchesItsProbability(t *testing.T) {
	const draws, delta = 100_000, 100 * time.Millisecond
	seed := testkit.Seed(t)
	draw := rand.New(rand.NewPCG(seed, 0))
	created := time.Now()
	for _, beta := range []float64{0.5, 1, 3} {
		for _, gap := range []float64{0.1, 0.5, 1, 2, 4} {
			h := header{created: created, soft: time.Minute, delta: delta}
			now := created.Add(time.Minute - time.Duration(gap*beta*float64(delta)))
			early := 0
			for range draws {
				if h.due(now, beta, draw.Float64()) {
					early++
				}
			}
			got, want := float64(early)/draws, math.Exp(-gap)
			if sigma := math.Sqrt(want * (1 - want) / draws); math.Abs(got-want) > 6*sigma {
				t.Errorf("beta %v, gap %v: got probability %.4f, want %.4f", beta, gap, got, want)
			}
		}
	}
	h := header{created: created, soft: time.Minute, delta: delta}
	if h.due(created.Add(time.Minute-1), 0, 1-0x1p-53) {
		t.Error("early refresh without beta")
	}
	if !h.due(created.Add(time.Minute), 0, 0) || !h.due(created.Add(time.Minute), 1, 0) {
		t.Error("not due at its expiry")
	}
}

// XFetch depends on the load duration in the record.
func TestRecordHoldsItsLoadDuration(t *testing.T) {
	const took = 3 * time.Millisecond
	w := miniWorld(t)
	rows := newTable(1)
	c := rowsOf(w.process(t), Policy{}, func(ctx context.Context, ids []int) (map[int]row, error) {
		for began := time.Now(); time.Since(began) < took; { // a slow load
		}
		return rows.load(ctx, ids)
	})
	mustGet(t, c, 1)
	if _, h, _ := w.stored(t, c, 1); h.delta < took || h.delta > time.Minute {
		t.Errorf("got delta %v, want at least %v", h.delta, took)
	}
}

// The duration excludes the wait for a slot, which would make refreshes begin even earlier.
func TestLoadDurationExcludesTheWaitForASlot(t *testing.T) {
	w := miniWorld(t)
	rows := newTable(1, 2)
	load, nextLoad := rows.pausing(t)
	var began atomic.Int64
	c := rowsOf(w.process(t), Policy{MaxLoads: 1}, func(ctx context.Context, ids []int) (map[int]row, error) {
		began.Store(time.Now().UnixNano())
		return load(ctx, ids)
	})
	first := getLater(t.Context(), c, 1)
	p := nextLoad()
	second := getLater(t.Context(), c, 2)
	eventually(t, "the second has a lease", func() bool { return w.rdb.Exists(t.Context(), leaseOf(c.inside().nameOf(2))).Val() == 1 })
	waits := time.Now()
	eventually(t, "it waits for 100ms", func() bool { return time.Since(waits) > 100*time.Millisecond })
	p.end <- nil
	receive(t, first)
	nextLoad().end <- nil
	receive(t, second)
	limit := time.Since(time.Unix(0, began.Load())) + 20*time.Millisecond
	if _, h, _ := w.stored(t, c, 2); h.delta > limit {
		t.Errorf("got delta %v, want at most %v", h.delta, limit)
	}
}
