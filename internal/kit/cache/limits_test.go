package cache

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"golang.org/x/time/rate"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
)

func TestLimits(t *testing.T) {
	cases := []struct {
		name string
		run  func(t *testing.T, w *world)
	}{
		{"expiries of one load are spread (A22)", endsAreSpread},
		{"loads stay bounded when all keys are lost (A22)", lossIsBounded},
	}
	onEach(t, func(t *testing.T, b *backend) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) { c.run(t, b.world(t)) })
		}
	})
}

func endsAreSpread(t *testing.T, w *world) {
	const fresh, jitter, parts = time.Hour, 0.1, 10
	n := 10_000
	if w.name == "miniredis" {
		n = 1000 // its scripts are slow
	}
	ids := make([]int, n)
	for i := range ids {
		ids[i] = i
	}
	c := rowsOf(w.process(t), Policy{TTL: fresh, Jitter: jitter}, newTable(ids...).load)
	if _, err := c.GetMany(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	pipe := w.rdb.Pipeline()
	for _, id := range ids {
		pipe.PTTL(t.Context(), c.inside().nameOf(id))
	}
	cmds, err := pipe.Exec(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var in [parts + 2]int // the first for the time since the store, the last for a full TTL
	for _, cmd := range cmds {
		left := cmd.(*redis.DurationCmd).Val()
		least, width := fresh-time.Duration(jitter*float64(fresh)), time.Duration(jitter*float64(fresh))/parts
		if left > fresh || left < least-width {
			t.Fatalf("got TTL %v, want %v to %v", left, least, fresh)
		}
		in[(left-least+width)/width]++
	}
	want := float64(n) / parts
	for i, got := range in[2:parts] { // full parts, which the time since the store only shifts
		if off := math.Abs(float64(got) - want); off > 5*math.Sqrt(want) {
			t.Errorf("part %d: got %d keys, want about %v", i+2, got, want)
		}
	}
}

// concurrency counts concurrent calls and their maximum.
type concurrency struct {
	mu        sync.Mutex
	now, most int
}

func (g *concurrency) enter() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now++
	g.most = max(g.most, g.now)
}

func (g *concurrency) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now--
}

func (g *concurrency) maximum() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.most
}

func lossIsBounded(t *testing.T, w *world) {
	const keys, readers, each, ofOne, ofAll = 40, 12, 40, 4, 6
	h := w.manualClient(t, Options{MaxLoads: ofAll}).Client
	var all concurrency
	build := func(name string) (*Cache[int, row], *concurrency) {
		rows, own := newTable(), new(concurrency)
		for id := range keys {
			rows.commit(id)
		}
		return rowsOf(h, Policy{Name: name, MaxLoads: ofOne}, func(ctx context.Context, ids []int) (map[int]row, error) {
			own.enter()
			all.enter()
			defer own.leave()
			defer all.leave()
			return rows.load(ctx, ids)
		}), own
	}
	one, ofFirst := build("one")
	two, ofSecond := build("two")
	var left, done sync.WaitGroup
	stop := make(chan struct{})
	for i := range readers {
		left.Go(func() {
			for j := range each {
				for _, c := range []*Cache[int, row]{one, two} {
					if _, err := c.Get(t.Context(), (i*7+j)%keys); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	done.Go(func() {
		ids := make([]int, keys)
		for id := range ids {
			ids[id] = id
		}
		for {
			select {
			case <-stop:
				return
			default: // like FLUSHALL
				pipe := w.rdb.Pipeline()
				for _, name := range append(names(one.inside().wants(ids)), names(two.inside().wants(ids))...) {
					pipe.Del(t.Context(), name, leaseOf(name))
				}
				if _, err := pipe.Exec(t.Context()); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	left.Wait()
	close(stop)
	done.Wait()
	if ofFirst.maximum() > ofOne || ofSecond.maximum() > ofOne || all.maximum() > ofAll {
		t.Errorf("got %d, %d and together %d concurrent loads, want at most %d and %d", ofFirst.maximum(), ofSecond.maximum(), all.maximum(), ofOne, ofAll)
	}
	if got := one.Stats().LoadCalls; got < 2*keys {
		t.Errorf("%d loads: inconclusive", got)
	}
}

// There are more readers than slots, and each load waits until the last slot is taken.
func TestConcurrentLoadsReachTheirBounds(t *testing.T) {
	const ofOne, ofAll, readers = 3, 5, 12
	h := miniWorld(t).manualClient(t, Options{MaxLoads: ofAll}).Client
	var all concurrency
	release := make(chan struct{})
	build := func(name string) (*Cache[int, row], *concurrency) {
		own := new(concurrency)
		return rowsOf(h, Policy{Name: name, MaxLoads: ofOne}, func(_ context.Context, ids []int) (map[int]row, error) {
			own.enter()
			all.enter()
			<-release
			own.leave()
			all.leave()
			return map[int]row{ids[0]: {ids[0], 1}}, nil
		}), own
	}
	one, ofFirst := build("one")
	two, ofSecond := build("two")
	var waiting []<-chan getResult
	for id := range readers {
		waiting = append(waiting, getLater(t.Context(), one, id), getLater(t.Context(), two, id))
	}
	eventually(t, "all slots are taken", func() bool { return all.maximum() == ofAll })
	close(release)
	for _, reader := range waiting {
		if got := receive(t, reader); got.err != nil {
			t.Error(got.err)
		}
	}
	if ofFirst.maximum() > ofOne || ofSecond.maximum() > ofOne || all.maximum() != ofAll {
		t.Errorf("got %d, %d and together %d concurrent loads, want at most %d and %d", ofFirst.maximum(), ofSecond.maximum(), all.maximum(), ofOne, ofAll)
	}
}

func TestReadWithoutASlotIsBusy(t *testing.T) {
	for _, of := range []string{"policy", "process"} {
		t.Run(of, func(t *testing.T) {
			w := miniWorld(t)
			o, p := Options{}, Policy{LoadTimeout: 50 * time.Millisecond, MaxLoads: 1}
			if of == "process" {
				o.MaxLoads = 1
			}
			x := w.manualClient(t, o)
			rows := newTable(1, 2)
			load, nextLoad := rows.pausing(t)
			c := rowsOf(x.Client, p, load)
			holder := c
			if of == "process" {
				holder = rowsOf(x.Client, Policy{Name: "other"}, load)
			}
			first := getLater(t.Context(), holder, 1)
			held := nextLoad()
			_, err := c.Get(t.Context(), 2)
			if !errors.Is(err, ErrBusy) || apierror.KindOf(err) != apierror.Unavailable {
				t.Errorf("got %v of kind %v, want ErrBusy", err, apierror.KindOf(err))
			}
			if found, err := c.GetMany(t.Context(), []int{2}); !errors.Is(err, ErrBusy) || len(found) != 0 {
				t.Errorf("GetMany: got %v, %v, want ErrBusy only", found, err)
			}
			if n := w.rdb.Exists(t.Context(), leaseOf(c.inside().nameOf(2))).Val(); n != 0 {
				t.Error("the lease was not released")
			}
			s := c.Stats()
			if s.Busy != 2 || s.LoadErrors != 0 {
				t.Errorf("got %d busy, %d load errors, want 2 and 0", s.Busy, s.LoadErrors)
			}
			held.end <- nil
			receive(t, first)
			third := getLater(t.Context(), c, 2)
			nextLoad().end <- nil
			if got := receive(t, third); got.err != nil {
				t.Error(got.err)
			}
		})
	}
}

func TestPanickedLoaderReleasesItsSlot(t *testing.T) {
	h := miniWorld(t).manualClient(t, Options{MaxLoads: 1}).Client
	rows, calls := newTable(1), 0
	c := rowsOf(h, Policy{MaxLoads: 1}, func(ctx context.Context, ids []int) (map[int]row, error) {
		if calls++; calls < 3 {
			panic("no such column")
		}
		return rows.load(ctx, ids)
	})
	for range 2 {
		if _, err := c.Get(t.Context(), 1); err == nil || errors.Is(err, ErrBusy) {
			t.Errorf("got %v, want the panic as an error", err)
		}
	}
	mustGet(t, c, 1)
}

func TestReadsAboveTheLimitAreRefused(t *testing.T) {
	setUp := func(t *testing.T, p Policy, reads int) (*manualClient, *Cache[int, row], *table) {
		x := miniWorld(t).manualClient(t, Options{LocalBytes: 1 << 20, SingleProcess: true, ReadLimit: 20})
		if x.reads.Limit() != 20 {
			t.Errorf("got limit %v, want 20", x.reads.Limit())
		}
		x.reads = rate.NewLimiter(0, reads) // exactly these reads
		rows := newTable(1, 2, 3)
		return x, rowsOf(x.Client, p, rows.load), rows
	}
	t.Run("only reads above the limit", func(t *testing.T) {
		_, c, _ := setUp(t, localPolicy(), 2)
		mustGet(t, c, 1)
		mustGet(t, c, 2)
		_, err := c.Get(t.Context(), 3)
		if !errors.Is(err, ErrBusy) || apierror.KindOf(err) != apierror.Unavailable {
			t.Errorf("got %v, want ErrBusy", err)
		}
		mustGet(t, c, 1) // local, without a Redis read
		found, err := c.GetMany(t.Context(), []int{1, 3, 2})
		if diff := cmp.Diff(map[int]row{1: {1, 1}, 2: {2, 1}}, found); diff != "" || !errors.Is(err, ErrBusy) {
			t.Error(err, diff)
		}
		if s := c.Stats(); s.Limited != 2 || s.Misses != 2 {
			t.Errorf("got %d limited, %d misses, want 2 and 2", s.Limited, s.Misses)
		}
	})
	t.Run("essential policies are exempt", func(t *testing.T) {
		p := localPolicy()
		p.Essential = true
		_, c, rows := setUp(t, p, 0)
		if found, err := c.GetMany(t.Context(), []int{1, 2}); err != nil || len(found) != 2 {
			t.Error(found, err)
		}
		mustGet(t, c, 3)
		if got := len(rows.loads()); got != 2 {
			t.Errorf("got %d loads, want 2", got)
		}
	})
	t.Run("a stale local entry replaces the read", func(t *testing.T) {
		p := localPolicy()
		p.StaleIfError = time.Minute
		x, c, _ := setUp(t, p, 1)
		mustGet(t, c, 1)
		x.advance(p.TTL + time.Minute - 1)
		mustGet(t, c, 1)
		found, err := c.GetMany(t.Context(), []int{1})
		if diff := cmp.Diff(map[int]row{1: {1, 1}}, found); err != nil || diff != "" {
			t.Error(err, diff)
		}
		if got := c.Stats(); got.StaleServed != 2 || got.LocalHits != 0 {
			t.Errorf("got %d stale served, %d local hits, want 2 and 0", got.StaleServed, got.LocalHits)
		}
		x.advance(1)
		if _, err := c.Get(t.Context(), 1); !errors.Is(err, ErrBusy) {
			t.Errorf("after StaleIfError: got %v, want ErrBusy", err)
		}
	})
	t.Run("without StaleIfError nothing replaces it", func(t *testing.T) {
		x, c, _ := setUp(t, localPolicy(), 1)
		mustGet(t, c, 1)
		x.advance(time.Hour)
		if _, err := c.Get(t.Context(), 1); !errors.Is(err, ErrBusy) {
			t.Errorf("got %v, want ErrBusy", err)
		}
	})
}

func TestReadLimitAllowsABurst(t *testing.T) {
	for limit, want := range map[int]int{1: 1, 9: 1, 20: 2, 5000: 500} {
		if got := miniWorld(t).manualClient(t, Options{ReadLimit: limit}).reads.Burst(); got != want {
			t.Errorf("limit %d: got burst %d, want %d", limit, got, want)
		}
	}
	if miniWorld(t).manualClient(t, Options{}).reads != nil {
		t.Error("a limit without ReadLimit")
	}
}

func TestStaleIfError(t *testing.T) {
	const stale = 10 * time.Minute
	type setting struct {
		w      *world
		x      *manualClient
		c      *Cache[int, row]
		rows   *table
		away   *outage
		broken atomic.Bool
	}
	cases := []struct {
		name   string
		local  func(p *Policy)
		id     int
		before func(t *testing.T, s *setting) // between the first read and the failure
		pass   time.Duration
		served bool
	}{
		{name: "served after its expiry", id: 1, pass: time.Hour, served: true},
		{name: "served until StaleIfError ends", id: 1, pass: time.Hour + stale - 1, served: true},
		{name: "not after StaleIfError", id: 1, pass: time.Hour + stale},
		{
			name: "not after an own invalidation", id: 1, pass: time.Hour,
			before: func(t *testing.T, s *setting) { mustInvalidate(t, s.c, 1) },
		},
		{
			name: "not after a failed own invalidation", id: 1, pass: time.Hour,
			before: func(t *testing.T, s *setting) {
				s.away.on.Store(true)
				if err := s.c.Invalidate(t.Context(), 1); err == nil {
					t.Error("got no error, want one")
				}
			},
		},
		{
			name: "not after an own put", id: 1, pass: time.Hour,
			before: func(t *testing.T, s *setting) { mustPut(t, s.c, s.rows.commit(1)) },
		},
		{name: "never an absence", id: 9, pass: 10 * time.Minute},
		{name: "not without the option", id: 1, pass: time.Hour, local: func(p *Policy) { p.StaleIfError = 0 }},
	}
	for _, redisToo := range []bool{true, false} {
		for _, test := range cases {
			t.Run(fmt.Sprintf("%s, Redis unavailable %v", test.name, redisToo), func(t *testing.T) {
				w := miniWorld(t)
				s := &setting{w: w, rows: newTable(1), away: new(outage)}
				s.x = w.manualClient(t, Options{LocalBytes: 1 << 20, SingleProcess: true}, s.away)
				p := localPolicy()
				p.StaleIfError = stale
				if test.local != nil {
					test.local(&p)
				}
				s.c = rowsOf(s.x.Client, p, s.rows.failingAfter(&s.broken))
				localHit(t, s.c, test.id)
				if test.before != nil {
					test.before(t, s)
				}
				s.broken.Store(true)
				s.away.on.Store(redisToo)
				if !redisToo {
					w.expire(t, s.c.inside().nameOf(test.id))
				}
				s.x.advance(test.pass)
				r, err := s.c.Get(t.Context(), test.id)
				many, errMany := s.c.GetMany(t.Context(), []int{test.id})
				if test.served {
					if err != nil || r.Version != 1 || errMany != nil || len(many) != 1 {
						t.Errorf("got %v, %v and %v, %v, want the stale row", r, err, many, errMany)
					}
					if got := s.c.Stats().StaleServed; got != 2 {
						t.Errorf("got %d stale served, want 2", got)
					}
				} else if !errors.Is(err, errDatabase) || !errors.Is(errMany, errDatabase) || len(many) != 0 {
					t.Errorf("got %v, %v and %v, %v, want the loader's error", r, err, many, errMany)
				}
			})
		}
	}
}

// Out of sync an entry expires after MaxAge, regardless of TTL.
func TestStaleIfErrorStartsAtExpiry(t *testing.T) {
	w := miniWorld(t)
	away := new(outage)
	x := w.manualClient(t, Options{LocalBytes: 1 << 20}, away)
	p := localPolicy()
	p.StaleIfError, p.Local.MaxAge = time.Minute, time.Second
	var broken atomic.Bool
	c := rowsOf(x.Client, p, newTable(1).failingAfter(&broken))
	mustGet(t, c, 1)
	away.on.Store(true)
	broken.Store(true)
	x.advance(time.Minute + time.Second - 1)
	if r, err := c.Get(t.Context(), 1); err != nil || r.Version != 1 {
		t.Errorf("got %v, %v, want version 1", r, err)
	}
	x.advance(1)
	if _, err := c.Get(t.Context(), 1); !errors.Is(err, errDatabase) {
		t.Errorf("got %v, want the loader's error", err)
	}
}

// Available keys are returned; only a key without any value causes the error.
func TestStaleIfErrorOfMany(t *testing.T) {
	w := miniWorld(t)
	x := w.manualClient(t, Options{LocalBytes: 1 << 20, SingleProcess: true})
	p := localPolicy()
	p.StaleIfError = time.Hour
	var broken atomic.Bool
	c := rowsOf(x.Client, p, newTable(1, 2, 3).failingAfter(&broken))
	mustGet(t, c, 1)
	mustGet(t, c, 2)
	broken.Store(true)
	for _, id := range []int{1, 2} {
		w.expire(t, c.inside().nameOf(id))
	}
	x.advance(time.Hour)
	want := map[int]row{1: {1, 1}, 2: {2, 1}}
	got, err := c.GetMany(t.Context(), []int{1, 2})
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	got, err = c.GetMany(t.Context(), []int{1, 2, 3})
	if diff := cmp.Diff(want, got); !errors.Is(err, errDatabase) || diff != "" {
		t.Error(err, diff)
	}
}

func TestDefaultLoadLimits(t *testing.T) {
	x := miniWorld(t).manualClient(t, Options{})
	c := newCache(x.Client, Policy{Name: "p"}, strconv.Itoa, newTable().load)
	if !x.slots.TryAcquire(64) || x.slots.TryAcquire(1) {
		t.Error("the default is not 64 loads per process")
	}
	if !c.inside().slots.TryAcquire(32) || c.inside().slots.TryAcquire(1) {
		t.Error("the default is not 32 loads per policy")
	}
}
