package cache

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Settings of [Hit] and [Local].
const (
	costReaders = 32
	costBytes   = 500
	costRounds  = 31
	costTTL     = time.Hour
)

// CostResult is the cost of one hit of one variant.
type CostResult struct {
	Name    string
	PerSec  float64 // hits of 32 goroutines, median of the rounds
	Ratio   float64 // time of a hit as a multiple of the first variant's in the same round, median
	Nanos   float64 // one goroutine, median
	Allocs  float64 // per hit, one goroutine
	AllocBy float64 // bytes
}

// Hit measures reading a row that is in Redis, relative to a bare GET by the same client. The
// variants take turns, each for a part of every round, so that a slower machine slows all of them.
func Hit(ctx context.Context, vs []Variant, url, prefix string, turn time.Duration) ([]CostResult, error) {
	bare := Variant{Name: "raw GET", New: func(p Process) (Scheme, error) { return &rawGet{aside{Process: p}}, nil }}
	return cost(ctx, append([]Variant{bare}, vs...), url, prefix, turn)
}

// Local measures reading a row that is in the memory of the process, relative to otter alone, which
// must be the first variant.
func Local(ctx context.Context, vs []Variant, url, prefix string, turn time.Duration) ([]CostResult, error) {
	return cost(ctx, vs, url, prefix, turn)
}

// rawGet is a plain GET.
type rawGet struct{ aside }

func (s *rawGet) Warm(ctx context.Context, key string) error {
	_, err := s.fill(ctx, key)
	return err
}

func (s *rawGet) Read(ctx context.Context, key string) (string, error) {
	return s.Redis.Get(ctx, s.key(key)).Result()
}

func cost(ctx context.Context, vs []Variant, url, prefix string, turn time.Duration) (results []CostResult, err error) {
	fleets := make([]*fleet, len(vs))
	defer func() {
		for i, f := range fleets {
			if f != nil {
				err = errors.Join(err, f.close(vs[i]))
			}
		}
	}()
	for i, v := range vs {
		db := NewDB()
		for j := range costReaders {
			db.Put(costKey(j), strings.Repeat("x", costBytes))
		}
		f, err := start(v, url, 1, Process{Prefix: fmt.Sprintf("%s%d:", prefix, i), DB: db, TTL: costTTL})
		if err != nil {
			return nil, err
		}
		fleets[i] = f
		for j := range costReaders {
			if err := warm(ctx, f.schemes[0], costKey(j)); err != nil {
				return nil, fmt.Errorf("warm %s: %w", v.Name, err)
			}
		}
	}
	rate, alone := make([][]float64, len(vs)), make([][]float64, len(vs))
	for round := range costRounds + 1 {
		for turns := range fleets {
			i := (turns + round) % len(fleets) // no variant always follows the same one
			f := fleets[i]
			many, err := hitMany(ctx, f.schemes[0], costReaders, turn)
			one, errOne := hitMany(ctx, f.schemes[0], 1, turn/2)
			if err := errors.Join(err, errOne); err != nil {
				return nil, fmt.Errorf("read %s: %w", vs[i].Name, err)
			}
			if round > 0 { // the first one warms up
				rate[i], alone[i] = append(rate[i], many), append(alone[i], one)
			}
		}
	}
	for i, v := range vs {
		r := CostResult{Name: v.Name, PerSec: median(rate[i]), Nanos: 1e9 / median(alone[i])}
		ratios := make([]float64, costRounds)
		for j := range ratios {
			ratios[j] = rate[0][j] / rate[i][j]
		}
		r.Ratio = median(ratios)
		if r.Allocs, r.AllocBy, err = allocations(ctx, fleets[i].schemes[0]); err != nil {
			return nil, fmt.Errorf("read %s: %w", v.Name, err)
		}
		results = append(results, r)
	}
	return results, nil
}

// costKey returns the key of one goroutine. With a common key, singleflight would make one round
// trip for many hits, unlike real traffic.
func costKey(reader int) string { return "row" + strconv.Itoa(reader) }

// hitMany returns hits per second of n goroutines.
func hitMany(ctx context.Context, s Scheme, readers int, turn time.Duration) (float64, error) {
	var all sync.WaitGroup
	var hits atomic.Int64
	failed := make([]error, readers)
	begin := time.Now()
	for i := range readers {
		all.Go(func() {
			n, key := int64(0), costKey(i)
			for ; n%64 != 0 || time.Since(begin) < turn; n++ {
				if _, failed[i] = s.Read(ctx, key); failed[i] != nil {
					break
				}
			}
			hits.Add(n)
		})
	}
	all.Wait()
	return float64(hits.Load()) / time.Since(begin).Seconds(), errors.Join(failed...)
}

// allocations returns the allocations of one hit in one goroutine. It takes the median of several
// turns, since it also counts those of other goroutines.
func allocations(ctx context.Context, s Scheme) (count, size float64, err error) {
	const turns, hits = 9, 500
	var counts, sizes []float64
	key := costKey(0)
	var before, after runtime.MemStats
	for range turns {
		runtime.ReadMemStats(&before)
		for range hits {
			if _, err := s.Read(ctx, key); err != nil {
				return 0, 0, err
			}
		}
		runtime.ReadMemStats(&after)
		counts = append(counts, float64(after.Mallocs-before.Mallocs)/hits)
		sizes = append(sizes, float64(after.TotalAlloc-before.TotalAlloc)/hits)
	}
	return median(counts), median(sizes), nil
}

func median(of []float64) float64 {
	of = slices.Sorted(slices.Values(of))
	return of[len(of)/2]
}
