package cache

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/testkit"
)

// TestNoReadIsOlderThanAnOwnWrite races in one process with all options: local entries, a
// filter that is rebuilt all the time, permanent refreshes by a short TTL, Put and Invalidate
// mixed.
func TestNoReadIsOlderThanAnOwnWrite(t *testing.T) {
	onEach(t, func(t *testing.T, b *backend) {
		seed := testkit.Seed(t)
		r, h := newLocalRace(t, b.world(t))
		c := r.caches[0]
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		began := time.Now()
		enough := func() bool { // to be conclusive
			s := c.Stats()
			return r.writes.Load() >= 50 && s.LocalHits >= 100 && s.Refreshes >= 5 && s.StoresRefused > 0
		}
		var all sync.WaitGroup
		all.Go(func() {
			for ctx.Err() == nil {
				c.inside().existence.filter.Load().keys.Store(1 << 40) // requires a rebuild
				c.inside().maintain(ctx)
				_ = clock.Sleep(ctx, 5*time.Millisecond)
				if enough() && time.Since(began) > 400*time.Millisecond {
					cancel()
				}
			}
		})
		for i := range 3 {
			all.Go(func() { r.writeOwn(ctx, t, c, rand.New(rand.NewPCG(seed, uint64(i)))) })
		}
		for i := range raceReaders {
			all.Go(func() { r.read(ctx, t, c, rand.New(rand.NewPCG(seed, uint64(1000+i)))) })
		}
		all.Wait()
		s := c.Stats()
		t.Logf("%d reads, %d writes, %d stale; %+v", r.reads.Load(), r.writes.Load(), r.stale.Load(), s)
		if n := r.stale.Load(); n > 0 {
			t.Errorf("%d of %d reads were stale, seed %d", n, r.reads.Load(), seed)
		}
		if !enough() {
			t.Error("inconclusive run")
		}
		h.Wait()
	})
}

func newLocalRace(t *testing.T, w *world) (*race, *Client) {
	t.Helper()
	h := w.manualClient(t, Options{LocalBytes: 1 << 20, SingleProcess: true}).Client
	h.clock.start(true)
	h.wall = time.Now
	r := &race{rows: newTable()}
	for id := range raceKeys - 2 { // two keys are absent at first
		r.rows.commit(id)
	}
	p := localPolicy()
	p.TTL, p.StaleTTL, p.NegativeTTL = 20*time.Millisecond, time.Minute, 20*time.Millisecond
	c := New(h, p.withTestTimes(), Source[int, row]{
		Key: strconv.Itoa, All: r.rows.ids, Version: func(r row) int64 { return int64(r.Version) },
		Load: func(ctx context.Context, ids []int) (map[int]row, error) {
			found, err := r.rows.load(ctx, ids)
			_ = clock.Sleep(ctx, rand.N(3*time.Millisecond)) // between snapshot and reply of the database
			return found, err
		},
	})
	r.caches = []*Cache[int, row]{c}
	buildFilter(t, c.inside().existence)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = h.Run(ctx) })
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	return r, h
}

// writeOwn commits, then puts or invalidates, and then raises the floor.
func (r *race) writeOwn(ctx context.Context, t *testing.T, c *Cache[int, row], draw *rand.Rand) {
	for clock.Sleep(ctx, time.Duration(draw.Int64N(int64(6*time.Millisecond)))) == nil {
		id := draw.IntN(raceKeys)
		committed := r.rows.commit(id)
		var err error
		if draw.IntN(2) == 0 {
			_, err = c.Put(ctx, id, committed)
		} else {
			err = c.Invalidate(ctx, id)
		}
		if err != nil {
			t.Error(err)
			return
		}
		version := int64(committed.Version)
		for old := r.floor[id].Load(); old < version && !r.floor[id].CompareAndSwap(old, version); {
			old = r.floor[id].Load()
		}
		r.writes.Add(1)
	}
}
