package harness

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Candidate is one of several implementations of an operation.
type Candidate struct {
	Name string
	Once func(ctx context.Context) error
}

// Comparison is the result of rounds of candidates.
type Comparison struct {
	Allocs []float64   // per operation, by candidate
	took   [][]float64 // nanoseconds per operation, by candidate and round
}

// Rounds configures a comparison. All fields are required.
type Rounds struct {
	Number     int // rounds per candidate, an odd number
	Operations int // operations per round
	Goroutines int // goroutines that share them
}

// Compare measures candidates in turns, so that other load on the machine affects all of
// them.
func (n Rounds) Compare(ctx context.Context, list []Candidate) (Comparison, error) {
	c := Comparison{took: make([][]float64, len(list)), Allocs: make([]float64, len(list))}
	for i, one := range list {
		allocs, err := allocations(ctx, one.Once)
		if err != nil {
			return c, fmt.Errorf("%s: %w", one.Name, err)
		}
		c.Allocs[i] = allocs
	}
	for r := range n.Number {
		for j := range list {
			i := (r + j) % len(list)
			took, err := RunParallel(ctx, n.Goroutines, n.Operations, list[i].Once)
			if err != nil {
				return c, fmt.Errorf("%s: %w", list[i].Name, err)
			}
			c.took[i] = append(c.took[i], float64(took.Nanoseconds())/float64(n.Operations))
		}
	}
	return c, nil
}

// RunParallel runs operations on several goroutines and returns the total time.
func RunParallel(ctx context.Context, goroutines, operations int, once func(context.Context) error) (time.Duration, error) {
	errs := make([]error, goroutines)
	var all sync.WaitGroup
	begin := time.Now()
	for g := range goroutines {
		all.Go(func() {
			for n := g; n < operations && errs[g] == nil; n += goroutines {
				errs[g] = once(ctx)
			}
		})
	}
	all.Wait()
	return time.Since(begin), errors.Join(errs...)
}

// allocations returns the allocations per operation.
func allocations(ctx context.Context, once func(context.Context) error) (float64, error) {
	const times = 2000
	if _, err := RunParallel(ctx, 1, times, once); err != nil { // also a warm-up
		return 0, err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := RunParallel(ctx, 1, times, once)
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / times, err
}

// Median returns the median nanoseconds per operation, over the rounds of candidate i.
func (c Comparison) Median(i int) float64 { return median(slices.Clone(c.took[i])) }

// Ratio returns the median over rounds of the time of candidate i divided by that of j.
func (c Comparison) Ratio(i, j int) float64 {
	ratios := make([]float64, len(c.took[i]))
	for r := range ratios {
		ratios[r] = c.took[i][r] / c.took[j][r]
	}
	return median(ratios)
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}
