package cache_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/cachetest"
)

// TestNoLocalReadIsOlderThanItsBound reads and writes at random in three processes with local
// rows on a bus. A read is stale if it misses a version whose Put or Invalidate, in any
// process, returned more than the bound before it began.
func TestNoLocalReadIsOlderThanItsBound(t *testing.T) {
	const maxAge = 500 * time.Millisecond
	tests := []struct {
		name    string
		during  time.Duration
		bound   time.Duration
		rest    time.Duration // so long that the next message does not hide a lost one
		writes  int64         // minimum of a run
		trouble bool
	}{
		// The goal is 50 ms. On a busy machine, a slower message is no fault of the bus.
		{name: "healthy bus", during: 5 * time.Second, bound: 500 * time.Millisecond, rest: 400 * time.Millisecond, writes: 50},
		{name: "failing bus", during: 10 * time.Second, bound: maxAge + 50*time.Millisecond, writes: 200, trouble: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			age := maxAge
			if !tt.trouble {
				age = time.Minute // so that only messages bring new versions
			}
			f := startThreeOnBus(t, age, tt.trouble)
			truth, seed := f.Truth(), testkit.Seed(t)
			truth.Bound.Store(int64(tt.bound))
			truth.Spread.Store(int64(2 * time.Millisecond))
			ctx, cancel := context.WithCancel(within(t, 2*time.Minute))
			defer cancel()
			faults := make(chan map[cachetest.Fault]int, 1)
			if tt.trouble {
				go func() { faults <- f.InjectFaults(ctx, seed) }()
			} else {
				faults <- nil
			}
			end := time.Now().Add(tt.during)
			_, err := f.Race(ctx, cachetest.RaceOptions{Seed: seed, Readers: 4, WritePause: tt.rest, Enough: func() bool {
				return time.Now().After(end) && truth.Reads.Load() > 3000 && truth.Writes.Load() > tt.writes
			}})
			cancel()
			injected := <-faults
			if err != nil {
				t.Fatal(err)
			}
			hits := localHits(t, f)
			t.Logf("%d reads, %d of them own hits, %d writes, %d failures; faults %v, %d batches shuffled; maximum staleness %v; %d reads in paused processes",
				truth.Reads.Load(), hits, truth.Writes.Load(), truth.Errors.Load(), injected, truth.Shuffled.Load(), time.Duration(truth.Oldest.Load()), truth.Paused.Load())
			if n := truth.Stale.Load(); n > 0 {
				t.Errorf("%d of %d reads were older than %v, the last one of key %d by %d versions; seed %d",
					n, truth.Reads.Load(), tt.bound, truth.StaleKey.Load(), truth.StaleBy.Load(), seed)
			}
			if n := truth.Back.Load(); n > 0 {
				t.Errorf("%d reads went back in time; seed %d", n, seed)
			}
			if problem := inconclusive(tt.trouble, hits, truth, injected); problem != "" {
				t.Errorf("%s: inconclusive", problem)
			}
		})
	}
}

func inconclusive(trouble bool, hits int64, truth *cachetest.Truth, faults map[cachetest.Fault]int) string {
	if reads := truth.Reads.Load(); hits < reads/10 {
		return fmt.Sprintf("%d local hits in %d reads", hits, reads)
	}
	if !trouble {
		if n := truth.Errors.Load(); n > 0 {
			return fmt.Sprintf("%d failures on a healthy bus", n)
		}
		return ""
	}
	if truth.Oldest.Load() == 0 {
		return "no stale read"
	}
	if truth.Shuffled.Load() == 0 {
		return "no reordered messages"
	}
	for _, kind := range []cachetest.Fault{cachetest.Cut, cachetest.HalfOpen, cachetest.Delayed} {
		if faults[kind] == 0 {
			return "no fault " + string(kind)
		}
	}
	return ""
}

// startThreeOnBus starts three processes that store rows locally for minutes, unless a message
// drops them.
func startThreeOnBus(t *testing.T, maxAge time.Duration, reorder bool) *cachetest.Fleet {
	t.Helper()
	url := testkit.Redis(t)
	f, err := cachetest.Start(3, cachetest.Setting{
		URL: url, BusURL: url, Prefix: "t", LocalBytes: 1 << 20, RedisTimeout: patience, MaxAge: maxAge, Reorder: reorder,
		Policy: cache.Policy{
			Name: "row", TTL: 5 * time.Minute, NegativeTTL: 5 * time.Minute, LoadTimeout: patience, LeaseTTL: patience,
			Local: cache.Local{Share: 1, Criteria: cache.Hot | cache.RarelyChanged | cache.Small | cache.MayBeStale, MaxAge: maxAge},
		},
	}, fleetProcess)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// localHits returns the local hits of all processes.
func localHits(t *testing.T, f *cachetest.Fleet) (hits int64) {
	t.Helper()
	answers, err := f.All(within(t, time.Minute), cachetest.Command{Do: cachetest.Get})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range answers {
		hits += a.Stats.LocalHits
	}
	return hits
}
