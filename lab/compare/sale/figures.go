package sale

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tandian-dev/tandian/lab/harness"
)

const (
	callers = 64      // closed loop: each has one request in flight
	stock   = 200_000 // of a sale with stock for all
	most    = 150_000 // orders of a round
	few     = 100     // units of a sale that sells out
	crowd   = 160     // its users; each asks twice
)

// A Figure holds the results of one strategy, over all rounds.
type Figure struct {
	Variant
	Admitted, Stored     float64 // orders a second, the median of the rounds; stored is from the first call to the last row
	P50, P99             time.Duration
	Retries              float64 // of an order
	RedisTrips, SQLTrips float64 // of an order, with those that store it
	Verdict
	Orders int // checked orders

	admitted []float64 // by round
	took     harness.Samples
	retried  int64
	redis    int64
	sql      int64
	stored   []float64
}

// Figures runs every variant with 64 callers for a while, one unit per order, and then sells out a
// small sale. Variants take turns, so that other work of the machine affects all of them.
func (s *Servers) Figures(ctx context.Context, variants []Variant, rounds int, each time.Duration) ([]*Figure, error) {
	all := make([]*Figure, len(variants))
	for i, v := range variants {
		all[i] = &Figure{Variant: v}
	}
	for r := range rounds {
		for i := range all {
			f := all[(r+i)%len(all)]
			if err := s.measure(ctx, f, each); err != nil {
				return nil, fmt.Errorf("%s: %w", f.Name, err)
			}
		}
	}
	for _, f := range all {
		n := float64(max(1, len(f.took)))
		f.Admitted, f.Stored = median(f.admitted), median(f.stored)
		f.P50, f.P99 = f.took.Percentile(50), f.took.Percentile(99)
		f.Retries, f.RedisTrips, f.SQLTrips = float64(f.retried)/n, float64(f.redis)/n, float64(f.sql)/n
	}
	return all, nil
}

func median(list []float64) float64 { return slices.Sorted(slices.Values(list))[len(list)/2] }

// Ratio returns the median over rounds of the admission rate relative to another strategy.
func (f *Figure) Ratio(to *Figure) float64 {
	all := make([]float64, len(f.admitted))
	for i := range all {
		all[i] = f.admitted[i] / to.admitted[i]
	}
	return median(all)
}

// measure runs one round of one variant.
func (s *Servers) measure(ctx context.Context, f *Figure, each time.Duration) (err error) {
	a, err := f.New(ctx, s)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, a.Close(ctx), s.clean(context.WithoutCancel(ctx)))
	}()
	if err := s.load(ctx, a, f, each); err != nil {
		return err
	}
	told, sale, err := s.sellOut(ctx, a)
	if err != nil {
		return err
	}
	return f.check(ctx, s, a, sale, told)
}

// load sells as much as possible.
func (s *Servers) load(ctx context.Context, a Admitter, f *Figure, each time.Duration) error {
	sale, err := s.open(ctx, a, stock, false)
	if err != nil {
		return err
	}
	redis, sql, retried := s.redisTrips.Load(), s.sqlTrips.Load(), a.Retried()
	begin := time.Now()
	told, took, err := storm(ctx, a, cmp.Or(f.Most, most), begin.Add(each), func(n int64) Wish { return Wish{n, sale.Voucher, 1} })
	if err != nil {
		return err
	}
	f.admitted = append(f.admitted, float64(len(told))/time.Since(begin).Seconds())
	if err := a.Settle(ctx, sale); err != nil {
		return err
	}
	f.stored = append(f.stored, float64(len(told))/time.Since(begin).Seconds())
	f.redis, f.sql, f.retried = f.redis+s.redisTrips.Load()-redis, f.sql+s.sqlTrips.Load()-sql, f.retried+a.Retried()-retried
	f.took = append(f.took, took...)
	for _, t := range told {
		if t.Decision != Admitted {
			return fmt.Errorf("user %d got decision %d although there was stock for all", t.User, t.Decision)
		}
	}
	return f.check(ctx, s, a, sale, told)
}

// sellOut sells a small stock to many users, which ask twice at the same time.
func (s *Servers) sellOut(ctx context.Context, a Admitter) ([]Answered, Sale, error) {
	sale, err := s.open(ctx, a, few, false)
	if err != nil {
		return nil, sale, err
	}
	told, _, err := storm(ctx, a, 2*crowd, time.Now().Add(settleLimit), func(n int64) Wish { return Wish{(n + 1) / 2, sale.Voucher, 1} })
	if err != nil {
		return nil, sale, err
	}
	return told, sale, a.Settle(ctx, sale)
}

// check adds the errors of a sale.
func (f *Figure) check(ctx context.Context, s *Servers, a Admitter, sale Sale, told []Answered) error {
	v, rows, err := s.check(ctx, a, sale, told)
	f.Add(v)
	f.Orders += rows
	return err
}

// storm sends the wishes of all callers, from the first on, until the given number of answers or
// the end of the sale.
func storm(ctx context.Context, a Admitter, most int, over time.Time, wish func(n int64) Wish) (told []Answered, took harness.Samples, err error) {
	var n atomic.Int64
	var mu sync.Mutex // guards the results
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			var mine []Answered
			var times harness.Samples
			var failed error
			for time.Now().Before(over) {
				i := n.Add(1)
				if i > int64(most) {
					break
				}
				w := wish(i)
				begin := time.Now()
				answer, e := a.Admit(ctx, w)
				if e != nil {
					failed = fmt.Errorf("admit user %d: %w", w.User, e)
					break
				}
				times = append(times, time.Since(begin))
				mine = append(mine, Answered{w, answer})
			}
			mu.Lock()
			defer mu.Unlock()
			told, took, err = append(told, mine...), append(took, times...), errors.Join(err, failed)
		})
	}
	all.Wait()
	return told, took, err
}
