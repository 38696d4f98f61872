package cache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// Settings of [Hot].
const (
	hotInstances = 3
	hotReaders   = 16 // of each instance
	hotTTL       = time.Second
	hotLoad      = 30 * time.Millisecond
	hotPace      = 4 * time.Millisecond   // a reader pauses this long
	hotBlocked   = 20 * time.Millisecond  // a read that took longer has waited for a load
	hotApart     = 300 * time.Millisecond // loads further apart than this are of two expiries
)

// HotResult holds the observations of [Hot] for one scheme.
type HotResult struct {
	Expiries int
	Loads    int
	Reads    int
	Blocked  int // reads above 20 ms
	P999     time.Duration
}

// Hot runs 48 readers in three processes that read one key with a TTL of a second and a load of 30
// ms. It counts the loads of each expiry and the readers that waited. The first load, of the empty
// cache, does not count.
func Hot(ctx context.Context, v Variant, url, prefix string, during time.Duration) (HotResult, error) {
	db := NewDB()
	db.Put("hot", "1")
	f, err := start(v, url, hotInstances, Process{Prefix: prefix, DB: db, TTL: hotTTL, Tuned: true, Soft: true})
	if err != nil {
		return HotResult{}, err
	}
	if err := warm(ctx, f.schemes[0], "hot"); err != nil {
		return HotResult{}, errors.Join(fmt.Errorf("warm %s: %w", v.Name, err), f.close(v))
	}
	var mu sync.Mutex
	var loads []time.Time
	db.LoadTime = func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		loads = append(loads, time.Now())
		return hotLoad
	}
	took, err := readAll(ctx, f.schemes, during)
	err = errors.Join(err, f.close(v))
	mu.Lock()
	defer mu.Unlock()
	return hotResult(took, loads), err
}

// readAll returns the duration of each read.
func readAll(ctx context.Context, schemes []Scheme, during time.Duration) ([]time.Duration, error) {
	more, stop := period(ctx, during)
	defer stop()
	var all sync.WaitGroup
	took := make([][]time.Duration, len(schemes)*hotReaders)
	failed := make([]error, len(took))
	for i := range took {
		s := schemes[i%len(schemes)]
		all.Go(func() {
			for clock.Sleep(more, hotPace) == nil {
				begin := time.Now()
				_, err := s.Read(ctx, "hot")
				took[i] = append(took[i], time.Since(begin))
				if err != nil {
					failed[i] = err
				}
			}
		})
	}
	all.Wait()
	return slices.Concat(took...), errors.Join(failed...)
}

func hotResult(took []time.Duration, loads []time.Time) HotResult {
	out := HotResult{Reads: len(took), Loads: len(loads)}
	for i, at := range loads {
		if i == 0 || at.Sub(loads[i-1]) > hotApart {
			out.Expiries++
		}
	}
	slices.Sort(took)
	for _, t := range took {
		if t > hotBlocked {
			out.Blocked++
		}
	}
	if len(took) > 0 {
		out.P999 = took[len(took)*999/1000]
	}
	return out
}
