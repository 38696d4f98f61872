package cachebench

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/testkit/cachetest"
	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
	"github.com/tandian-dev/tandian/lab/harness"
)

// fleet starts three processes.
func (b *cacheBench) fleet(p cache.Policy, localBytes int64) (*cachetest.Fleet, error) {
	b.clients++
	return cachetest.Start(3, cachetest.Setting{
		URL: b.RedisURL, Prefix: fmt.Sprintf("%s-%d", b.prefix, b.clients), Policy: p, LocalBytes: localBytes, RedisTimeout: subprocess.Patience,
	}, b.Processes)
}

// expiries reads one key in three processes while it expires repeatedly. Two loads within the TTL
// of a value, or overlapping ones, count for the same expiry.
func (b *cacheBench) expiries(ctx context.Context) (rows []harness.Row, err error) {
	const fresh, load, slow = 200 * time.Millisecond, 400 * time.Millisecond, 390 * time.Millisecond
	f, err := b.fleet(cache.Policy{Name: "hot", TTL: fresh, StaleTTL: time.Minute, Jitter: -1}, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	truth := f.Truth()
	truth.Version[0].Store(1)
	if _, err := f.Call(ctx, 0, cachetest.Command{Do: cachetest.Get}); err != nil {
		return nil, err
	}
	truth.Delay.Store(int64(load))
	truth.MinLoadGap.Store(int64(fresh - 2*time.Millisecond)) // times in a record are whole milliseconds
	var reads, blocked, missed, failures int64
	for enough := int64(b.Expiries) + 1; truth.Loads[0].Load() < enough; {
		answers, err := f.All(ctx, cachetest.Command{
			Do: cachetest.ReadHot, Readers: 8, For: 5 * time.Second, Pause: time.Millisecond, Slow: slow,
		})
		if err != nil {
			return nil, err
		}
		failures, missed = 0, -1 // the first read of all
		for _, a := range answers {
			reads, blocked = reads+a.Reads, blocked+a.Slow
			missed, failures = missed+a.Stats.Misses, failures+a.Stats.RedisErrors
		}
	}
	loads := truth.Loads[0].Load() - 1
	twice := max(truth.Early.Load(), truth.Overlapping.Load())
	return []harness.Row{{
		What:     fmt.Sprintf("loads per expiry, 3 processes × 8 readers, %d expiries", loads-twice),
		Measured: fmt.Sprintf("%.2f (%d reads, %d failures of Redis)", float64(loads)/float64(loads-twice), reads, failures),
		Goal:     "1.00", Met: twice == 0,
	}, {
		What:     "reads at soft expiry that took as long as a load",
		Measured: fmt.Sprintf("%d of %d (%d found nothing to serve)", blocked, reads, missed), Goal: "0", Met: blocked == 0,
	}}, nil
}

// strict reads and writes at random in three processes that are killed; half of the reads run
// without local caches, half bypass them.
func (b *cacheBench) strict(ctx context.Context) ([]harness.Row, error) {
	short := cache.Policy{
		Name: "race", TTL: 50 * time.Millisecond, StaleTTL: 50 * time.Millisecond, Beta: 1, NegativeTTL: 50 * time.Millisecond, LeaseTTL: 100 * time.Millisecond,
	}
	local := short
	local.Local = cache.Local{Share: 1, Criteria: cache.Hot | cache.RarelyChanged | cache.Small | cache.MayBeStale}
	var all race
	for i, p := range []cache.Policy{short, local} {
		r, err := b.race(ctx, p, int64(i)*(1<<20), b.Seed+uint64(i))
		if err != nil {
			return nil, err
		}
		all.reads, all.stale, all.writes = all.reads+r.reads, all.stale+r.stale, all.writes+r.writes
		all.errors, all.killed, all.loading = all.errors+r.errors, all.killed+r.killed, all.loading+r.loading
	}
	return []harness.Row{{
		What:     fmt.Sprintf("stale strict reads, 3 processes, %d killed, %d of them in a load", all.killed, all.loading),
		Measured: fmt.Sprintf("%d of %d (%d writes, %d errors, seed %d)", all.stale, all.reads, all.writes, all.errors, b.Seed),
		Goal:     "0", Met: all.stale == 0,
	}}, nil
}

type race struct {
	reads, stale, writes, errors int64
	killed, loading              int
}

func (b *cacheBench) race(ctx context.Context, p cache.Policy, localBytes int64, seed uint64) (r race, err error) {
	f, err := b.fleet(p, localBytes)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	truth := f.Truth()
	truth.Spread.Store(int64(3 * time.Millisecond))
	printed := time.Now()
	killed, err := f.Race(ctx, cachetest.RaceOptions{
		Seed: seed, Readers: 8,
		Enough: func() bool {
			if time.Since(printed) > 10*time.Second {
				printed = time.Now()
				fmt.Fprintf(b.Progress, "bench cache: %d strict reads, %d stale\n", truth.Reads.Load(), truth.Stale.Load())
			}
			return truth.Reads.Load() >= b.Reads/2
		},
		KillPause: func(draw *rand.Rand) time.Duration {
			return 100*time.Millisecond + time.Duration(draw.Int64N(int64(900*time.Millisecond)))
		},
	})
	return race{
		reads: truth.Reads.Load(), stale: truth.Stale.Load(), writes: truth.Writes.Load(), errors: truth.Errors.Load(),
		killed: killed.All, loading: killed.Loading,
	}, err
}

// absent reads ids that do not exist.
func (b *cacheBench) absent(ctx context.Context) ([]harness.Row, error) {
	const exist, asked, falsePositives = 100_000, 10_000, 0.01
	ask := func(all func(context.Context) iter.Seq2[int, error], ids func() int) (loads int64, err error) {
		h, err := b.newClient(b.rdb, cache.Options{SingleProcess: true, RedisTimeout: subprocess.Patience})
		if err != nil {
			return 0, err
		}
		defer running(ctx, h)()
		c := cache.New(h, cache.Policy{Name: "absent"}, cache.Source[int, blob]{Key: strconv.Itoa, Load: none, All: all})
		for all != nil && c.Stats().Excluded == 0 { // until the existence filter is loaded
			if _, err := c.Get(ctx, -1); !errors.Is(err, cache.ErrNotFound) {
				return 0, err
			}
			if err := clock.Sleep(ctx, 10*time.Millisecond); err != nil {
				return 0, err
			}
		}
		before := c.Stats().Loads
		_, err = harness.RunParallel(ctx, goroutines, asked, func(ctx context.Context) error {
			if _, err := c.Get(ctx, ids()); !errors.Is(err, cache.ErrNotFound) {
				return fmt.Errorf("read an absent id: %w", err)
			}
			return nil
		})
		return c.Stats().Loads - before, err
	}
	var next atomic.Int64
	apart := func() int { return exist + int(next.Add(1)) } // each once
	some := func() int { return exist + rand.IntN(100) }
	open, err := ask(nil, apart)
	if err != nil {
		return nil, err
	}
	repeated, err := ask(nil, some)
	if err != nil {
		return nil, err
	}
	guarded, err := ask(everyID(exist), apart)
	if err != nil {
		return nil, err
	}
	return []harness.Row{
		{What: "loads for 10 000 absent ids, each once", Measured: strconv.FormatInt(open, 10)},
		{What: "the same, 100 ids repeatedly", Measured: strconv.FormatInt(repeated, 10), Goal: "≤ 100", Met: repeated <= 100},
		{
			What: "each once, with a filter of 100 000 ids", Measured: strconv.FormatInt(guarded, 10),
			Goal: "≤ 120", Met: float64(guarded) <= 1.2*falsePositives*asked,
		},
	}, nil
}

func none(context.Context, []int) (map[int]blob, error) { return nil, nil }

func everyID(n int) func(context.Context) iter.Seq2[int, error] {
	return func(context.Context) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for id := range n {
				if !yield(id, nil) {
					return
				}
			}
		}
	}
}

// slowBlobs is a slow loader that counts its concurrent runs.
type slowBlobs struct {
	takes    time.Duration
	now, max atomic.Int64
}

func (s *slowBlobs) load(ctx context.Context, ids []int) (map[int]blob, error) {
	now := s.now.Add(1)
	defer s.now.Add(-1)
	for limit := s.max.Load(); now > limit && !s.max.CompareAndSwap(limit, now); {
		limit = s.max.Load()
	}
	if err := clock.Sleep(ctx, s.takes); err != nil {
		return nil, err
	}
	return blobs(ctx, ids)
}

// emptied empties Redis repeatedly under some five thousand reads a second.
func (b *cacheBench) emptied(ctx context.Context) ([]harness.Row, error) {
	const during, limit, readers, keys = 4 * time.Second, 32, 120, 10_000
	rdb, err := subprocess.OpenRedis(b.private.URL)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rdb.Close() }()
	emptier, err := subprocess.OpenRedis(b.private.URL) // so that it has a connection
	if err != nil {
		return nil, err
	}
	defer func() { _ = emptier.Close() }()
	h, err := b.newClient(rdb, cache.Options{})
	if err != nil {
		return nil, err
	}
	defer h.Wait()
	source := &slowBlobs{takes: 5 * time.Millisecond}
	c := cache.New(h, cache.Policy{Name: "page", MaxLoads: limit}, cache.Source[int, blob]{Key: strconv.Itoa, Load: source.load})
	ctx, cancel := context.WithTimeout(ctx, during)
	defer cancel()
	var all sync.WaitGroup
	var reads, failed atomic.Int64
	for range readers {
		all.Go(func() {
			for ctx.Err() == nil {
				reads.Add(1)
				if _, err := c.Get(context.WithoutCancel(ctx), rand.IntN(keys)); err != nil {
					failed.Add(1)
				}
				_ = clock.Sleep(ctx, 20*time.Millisecond)
			}
		})
	}
	emptied := 0
	for clock.Sleep(ctx, 300*time.Millisecond) == nil {
		if err = emptier.Do(context.WithoutCancel(ctx), "FLUSHALL").Err(); err == nil { // else it was busy
			emptied++
		}
	}
	all.Wait()
	if emptied == 0 {
		return nil, fmt.Errorf("empty the private Redis: %w", err)
	}
	return []harness.Row{{
		What:     fmt.Sprintf("Redis emptied %d times under %.0f reads/s: loader calls at once, errors", emptied, float64(reads.Load())/during.Seconds()),
		Measured: fmt.Sprintf("%d, %d", source.max.Load(), failed.Load()),
		Goal:     fmt.Sprintf("≤ %d, 0", limit), Met: source.max.Load() <= limit && failed.Load() == 0,
	}}, nil
}
