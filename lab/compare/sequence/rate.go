package sequence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// A Rate is the cost of making ids.
type Rate struct {
	PerSecond float64 // the median of the rounds
	ToOurs    float64 // relative to Tandian's in the same round, likewise; 0 if that was left out
	Trips     float64 // round trips for each
}

// Rates measures schemes in turns, in rounds, so that other work of the machine affects all of them
// equally.
func (s *Servers) Rates(ctx context.Context, schemes []Scheme, rounds int, each time.Duration) ([]Rate, error) {
	makers := make([]Maker, len(schemes))
	for i, sc := range schemes {
		t := s.trial(sc)
		m, err := t.begin(ctx, 1, time.Now)
		if err != nil {
			return nil, err
		}
		defer t.end()
		makers[i] = m
	}
	rates := make([]Rate, len(schemes))
	perSecond, toOurs := make([][]float64, len(schemes)), make([][]float64, len(schemes))
	mine := slices.IndexFunc(schemes, func(sc Scheme) bool { return sc.Name == ours })
	for round := range rounds + 1 { // the first warms up
		for i, m := range makers {
			sent := s.sent.Load()
			made, took, err := crowd(ctx, m, each)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", schemes[i].Name, err)
			}
			if round > 0 {
				perSecond[i] = append(perSecond[i], float64(made)/took.Seconds())
				rates[i].Trips += float64(s.sent.Load()-sent) / float64(made) / float64(rounds)
			}
		}
	}
	for i := range schemes {
		if mine >= 0 {
			for round := range rounds {
				toOurs[i] = append(toOurs[i], perSecond[i][round]/perSecond[mine][round])
			}
			rates[i].ToOurs = median(toOurs[i])
		}
		rates[i].PerSecond = median(perSecond[i])
	}
	return rates, nil
}

// crowd makes ids for a while, in all workers.
func crowd(ctx context.Context, m Maker, d time.Duration) (made int64, took time.Duration, err error) {
	var all sync.WaitGroup
	counts, errs := make([]int64, workers), make([]error, workers)
	began := time.Now()
	for i := range workers {
		all.Go(func() {
			n := int64(0)
			for ; n%64 != 0 || time.Since(began) < d; n++ {
				if _, errs[i] = m.Next(ctx); errs[i] != nil {
					break
				}
			}
			counts[i] = n
		})
	}
	all.Wait()
	took = time.Since(began)
	for _, n := range counts {
		made += n
	}
	return made, took, errors.Join(errs...)
}

func median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}
