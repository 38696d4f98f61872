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

// logical is a policy of logical expiry: a minute current, an hour served.
func logical() Policy { return Policy{TTL: time.Minute, StaleTTL: time.Hour, Jitter: -1} }

func TestLogicalExpiry(t *testing.T) {
	cases := []struct {
		name string
		run  func(t *testing.T, w *world)
	}{
		{"after Fresh the value is served while one load refreshes it, and nobody waits", refreshBlocksNoReader},
		{"two processes refresh once", processesRefreshOnce},
		{"a refresh decided on an older record loads nothing", lateRefreshLoadsNothing},
		{"a key that was never there is loaded (A20)", coldKeyIsLoaded},
		{"with a failing loader the value is served to the end of Grace, then the error (A21)", failingRefreshEnds},
		{"GetMany refreshes all that is due in one call", refreshOfManyIsOneCall},
		{"without Grace the value ends with Fresh", withoutStaleTTLValuesExpire},
		{"a value is refreshed before its end, once over two processes (XFetch)", earlyRefreshIsOneLoad},
		{"clocks of processes may differ: soft expiry is off by as much, nothing else (A28)", skewMovesSoftExpiryAlone},
		{"clocks of processes may differ: an invalidation counts at once (A28)", skewDoesNotTouchInvalidation},
		{"a refresh that finds no row leaves the key absent", refreshFindsNoRow},
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
		t.Error("before its end", diff)
	}
	x.advance(2 * time.Second)
	rows.commit(1)
	mustGet(t, here, 1)
	p := nextLoad() // the refresh stands still from here on
	for range 20 {
		if got := mustGet(t, here, 1); got.Version != 1 {
			t.Fatalf("got %v", got)
		}
		if got, err := here.GetMany(t.Context(), []int{1}); err != nil || got[1].Version != 1 {
			t.Fatalf("got %v, %v", got, err)
		}
	}
	if _, ok := p.ctx.Deadline(); !ok {
		t.Error("the refresh has no deadline")
	}
	p.end <- nil
	x.Wait()
	if got := mustGet(t, here, 1); got.Version != 2 {
		t.Errorf("after the refresh: version %d, want 2", got.Version)
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
	y.Wait() // it found the lease taken
	if got := there.Stats(); got.Refreshes != 1 || got.Loads != 1 {
		t.Errorf("%d refreshes and %d loads there, want one that loaded nothing beside the first load", got.Refreshes, got.Loads)
	}
	p.end <- nil
	x.Wait()
	if got := len(rows.loads()); got != 2 {
		t.Errorf("%d loads, want the first and one refresh", got)
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
	there.inside().handleReply(t.Context(), &late, there.inside().fetch(t.Context(), late.name)) // decides on the record that is over
	mustGet(t, here, 1)
	x.Wait() // and here it was replaced
	there.inside().refresh(t.Context(), []want[int]{late})
	y.Wait()
	if got := len(rows.loads()); got != 2 {
		t.Errorf("%d loads, want the first and one refresh", got)
	}
	if got := there.Stats().Refreshes; got != 1 {
		t.Errorf("%d refreshes begun there, want 1", got)
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
		t.Errorf("%v left in Redis, want Fresh + Grace", left)
	}
	broken.Store(true)
	x.advance(30 * time.Minute)
	for began, tries := time.Now(), int64(0); ; began = time.Now() {
		tries++
		eventually(t, "a refresh fails", func() bool { mustGet(t, c, 1); x.Wait(); return c.Stats().LoadErrors == tries })
		for failed := time.Now(); time.Since(failed) < 5*maxPause; { // much more than a key is left alone otherwise
			mustGet(t, c, 1)
			x.Wait()
		}
		if failed := c.Stats().LoadErrors; time.Since(began) < refreshPause { // else the machine was too slow to tell
			if failed != tries {
				t.Errorf("%d refreshes failed, want %d: after a failure the key is left alone", failed, tries)
			}
			break
		}
	}
	w.expire(t, c.inside().nameOf(1))
	if _, err := c.Get(t.Context(), 1); !errors.Is(err, errDatabase) {
		t.Errorf("after Grace: %v, want the loader's error", err)
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
		t.Errorf("%v left in Redis, want Fresh", left)
	}
}

func earlyRefreshIsOneLoad(t *testing.T, w *world) {
	rows := newTable(1)
	load, nextLoad := rows.pausing(t)
	p := logical()
	x, y := w.manualClient(t, Options{}), w.manualClient(t, Options{})
	plain := rowsOf(w.manualClient(t, Options{}).Client, p, rows.load)
	p.Beta = 1e9 // any load is long enough to begin at once
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
		t.Errorf("%d refreshes without Beta", got)
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
		t.Errorf("%d loads, want 1", got)
	}
	if got := here.Stats(); got.StaleServed != 0 || got.Refreshes != 1 {
		t.Errorf("%d served after their time, %d refreshes", got.StaleServed, got.Refreshes)
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
				t.Errorf("a clock %v off: %v left in Redis, want 61m", writer, left)
			}
			end := time.Minute + writer // in true time since the write
			y.advance(end - 2*time.Millisecond)
			if mustGet(t, here, 1); here.Stats().StaleServed != 0 {
				t.Errorf("writer %v, reader %v off: due too early", writer, reader)
			}
			y.advance(2 * time.Millisecond)
			if mustGet(t, here, 1); here.Stats().StaleServed != 1 {
				t.Errorf("writer %v, reader %v off: not due in time", writer, reader)
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

// A refresh takes nothing from readers: no place that they wait for, and no load
// that could not be kept.
func TestRefreshYieldsToReaders(t *testing.T) {
	cases := []struct {
		name string
		o    Options
		own  bool // the place is taken by a load of the same policy
		away bool // Redis is gone once the record was read
	}{
		{name: "no place in its policy", own: true},
		{name: "no place in the process", o: Options{MaxLoads: 1}},
		{name: "no lease to be had", away: true},
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
				other = cacheOf2(x.Client, "other", load)
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
					t.Errorf("%d loads, want the first alone", got)
				}
				return
			}
			busy := getLater(t.Context(), other, 2)
			p2 := nextLoad()
			soon := false
			for range 3 { // a machine that is busy for a moment does not count
				began := time.Now()
				mustGet(t, c, 1)
				eventually(t, "the refresh has begun and given its lease back", func() bool {
					_, under := c.inside().refreshing.Load(1)
					return !under && w.rdb.Exists(t.Context(), leaseOf(c.inside().nameOf(1))).Val() == 0
				})
				soon = soon || time.Since(began) < refreshPause
			}
			if !soon || c.Stats().Refreshes != 3 {
				t.Errorf("%d refreshes were begun, soon after each other: %v", c.Stats().Refreshes, soon)
			}
			p2.end <- nil
			receive(t, busy)
			x.Wait()
			if diff := cmp.Diff([][]int{{1}, {2}}, rows.loads()); diff != "" {
				t.Error("loads", diff)
			}
			mustGet(t, c, 1) // and the place is free for the next
			nextLoad().end <- nil
		})
	}
}

func cacheOf2(h *Client, name string, load Loader[int, row]) *Cache[int, row] {
	return rowsOf(h, Policy{Name: name}, load)
}

// XFetch: a reader with a gap to the end refreshes with probability
// exp(−gap ÷ (delta·beta)).
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
				t.Errorf("beta %v, gap %v: due with %.4f, want %.4f", beta, gap, got, want)
			}
		}
	}
	h := header{created: created, soft: time.Minute, delta: delta}
	if h.due(created.Add(time.Minute-1), 0, 1-0x1p-53) {
		t.Error("due early without beta")
	}
	if !h.due(created.Add(time.Minute), 0, 0) || !h.due(created.Add(time.Minute), 1, 0) {
		t.Error("not due at its end")
	}
}

// What XFetch counts on is in the record: how long the load took.
func TestRecordHoldsItsLoadDuration(t *testing.T) {
	const took = 3 * time.Millisecond
	w := miniWorld(t)
	rows := newTable(1)
	c := rowsOf(w.process(t), Policy{}, func(ctx context.Context, ids []int) (map[int]row, error) {
		for began := time.Now(); time.Since(began) < took; { // a load that takes a while
		}
		return rows.load(ctx, ids)
	})
	mustGet(t, c, 1)
	if _, h, _ := w.stored(t, c, 1); h.delta < took || h.delta > time.Minute {
		t.Errorf("delta %v, want at least %v", h.delta, took)
	}
}

// Waiting for a place is not part of it: the wait would have refreshes begin
// earlier still.
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
	eventually(t, "it waits for a while", func() bool { return time.Since(waits) > 100*time.Millisecond })
	p.end <- nil
	receive(t, first)
	nextLoad().end <- nil
	receive(t, second)
	most := time.Since(time.Unix(0, began.Load())) + 20*time.Millisecond
	if _, h, _ := w.stored(t, c, 2); h.delta > most {
		t.Errorf("the load took %v, of which at most %v are its own", h.delta, most)
	}
}
