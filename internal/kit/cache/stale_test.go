package cache

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// TestNoReadIsOlderThanAnInvalidation reads and writes at random in three processes. A read is
// stale if its version is lower than one whose invalidation had returned before the read
// began. TANDIAN_TEST_SEED repeats the choices of a run, but not its interleaving.
func TestNoReadIsOlderThanAnInvalidation(t *testing.T) {
	onEach(t, func(t *testing.T, b *backend) {
		seed := uint64(time.Now().UnixNano())
		if s, err := strconv.ParseUint(os.Getenv("TANDIAN_TEST_SEED"), 10, 64); err == nil {
			seed = s
		}
		t.Logf("seed %d", seed)
		newRace(t, b.world(t), Policy{}).run(t, seed, raceTime())
	})
}

const (
	raceKeys    = 16
	raceHubs    = 3
	raceReaders = 6 // of each process
)

type race struct {
	rows   *table
	caches []*Cache[int, row]
	floor  [raceKeys]atomic.Int64 // newest invalidated version of each key

	reads, writes, stale atomic.Int64
}

func newRace(t *testing.T, w *world, p Policy) *race {
	r := &race{rows: newTable()}
	for id := range raceKeys - 2 { // two keys are absent at first
		r.rows.commit(id)
	}
	slowLoad := func(ctx context.Context, ids []int) (map[int]row, error) {
		found, err := r.rows.load(ctx, ids)
		_ = clock.Sleep(ctx, rand.N(3*time.Millisecond)) // between snapshot and reply of the database
		return found, err
	}
	for range raceHubs {
		r.caches = append(r.caches, cacheOf(w.process(t), slowLoad, p))
	}
	return r
}

func (r *race) run(t *testing.T, seed uint64, during time.Duration) {
	ctx, cancel := raceFor(t, during, func() bool { return len(r.missing()) == 0 })
	defer cancel()
	var all sync.WaitGroup
	for i, c := range r.caches {
		all.Go(func() { r.write(ctx, t, c, rand.New(rand.NewPCG(seed, uint64(i)))) })
		for j := range raceReaders {
			all.Go(func() { r.read(ctx, t, c, rand.New(rand.NewPCG(seed, uint64(1000*(i+1)+j)))) })
		}
	}
	all.Wait()
	t.Logf("%d reads, %d writes, %d loads, %d stale", r.reads.Load(), r.writes.Load(), len(r.rows.loads()), r.stale.Load())
	if n := r.stale.Load(); n > 0 {
		t.Errorf("%d of %d reads were stale, seed %d", n, r.reads.Load(), seed)
	}
	for _, c := range r.caches {
		if n := c.Stats().RedisErrors; n > 0 {
			t.Errorf("got %d Redis errors, want none", n)
		}
	}
	if few := r.missing(); len(few) > 0 {
		t.Errorf("too few %v: inconclusive", few)
	}
}

// missing names the events that a conclusive race still needs.
func (r *race) missing() []string {
	var refused int64
	for _, c := range r.caches {
		refused += c.Stats().StoresRefused
	}
	return tooFew(map[string]int64{"stores refused": refused, "reads": r.reads.Load() / 500, "writes": r.writes.Load() / 50})
}

// write commits, invalidates, and then raises the floor.
func (r *race) write(ctx context.Context, t *testing.T, c *Cache[int, row], draw *rand.Rand) {
	for clock.Sleep(ctx, time.Duration(draw.Int64N(int64(6*time.Millisecond)))) == nil {
		id := draw.IntN(raceKeys)
		version := int64(r.rows.commit(id).Version)
		if err := c.Invalidate(ctx, id); err != nil {
			t.Error(err)
			return
		}
		for old := r.floor[id].Load(); old < version && !r.floor[id].CompareAndSwap(old, version); {
			old = r.floor[id].Load()
		}
		r.writes.Add(1)
	}
}

// read compares results with the floor before the read. One read in four has several keys.
func (r *race) read(ctx context.Context, t *testing.T, c *Cache[int, row], draw *rand.Rand) {
	for ctx.Err() == nil {
		ids := draw.Perm(raceKeys)[:1+draw.IntN(4)/3*draw.IntN(raceKeys)]
		var floor [raceKeys]int64
		for _, id := range ids {
			floor[id] = r.floor[id].Load()
		}
		found, err := r.get(ctx, c, ids)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			t.Error(err)
			return
		}
		for _, id := range ids {
			r.reads.Add(1)
			if int64(found[id].Version) < floor[id] {
				r.stale.Add(1)
			}
		}
	}
}

func (r *race) get(ctx context.Context, c *Cache[int, row], ids []int) (map[int]row, error) {
	if len(ids) > 1 {
		return c.GetMany(ctx, ids)
	}
	one, err := c.Get(ctx, ids[0])
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return map[int]row{ids[0]: one}, err
}
