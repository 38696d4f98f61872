package flashsale

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// A QueueStat is how one queue of orders does, over all processes.
type QueueStat struct {
	Name    string        // sale:P, of the partition P
	Lag     int           // entries that nobody has read
	Pending int           // entries that a consumer has, and that are not stored
	Oldest  time.Duration // age of the first of both; 0 if there is none
	Parked  int           // entries that could not be stored, of the newest
}

// Stats says how the queues do, in one round trip. An error means that Redis did not
// tell of all of them.
func (s *Service) Stats(ctx context.Context) ([]QueueStat, error) {
	ctx, cancel := context.WithTimeout(ctx, tripTimeout)
	defer cancel()
	type asked struct {
		all, parked *redis.IntCmd
		pending     *redis.XPendingCmd
		first       *redis.XMessageSliceCmd
	}
	of := make([]asked, s.admitter.partitions)
	pipe := s.admitter.state.Pipeline()
	for p := range of {
		stream := s.admitter.keys.orders(p)
		of[p] = asked{pipe.XLen(ctx, stream), pipe.XLen(ctx, s.admitter.keys.parked(p)), pipe.XPending(ctx, stream, group), pipe.XRangeN(ctx, stream, "-", "+", 1)}
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	stats := make([]QueueStat, len(of))
	for p, a := range of {
		pending := 0
		summary, err := a.pending.Result()
		switch {
		case err == nil:
			pending = int(summary.Count)
		case redis.HasErrorPrefix(err, "NOGROUP"): // nobody has read yet
			err = nil
		}
		if err := errors.Join(err, a.all.Err(), a.parked.Err(), a.first.Err()); err != nil {
			return nil, fmt.Errorf("ask how the queues of orders do: %w", err)
		}
		stats[p] = QueueStat{
			Name: "sale:" + strconv.Itoa(p), Lag: max(0, int(a.all.Val())-pending), Pending: pending,
			Oldest: s.ageOf(a.first.Val()), Parked: int(a.parked.Val()),
		}
	}
	return stats, nil
}

// ageOf is how long ago the first of some entries was written, by the clock of Redis
// then and ours now.
func (s *Service) ageOf(entries []redis.XMessage) time.Duration {
	if len(entries) == 0 {
		return 0
	}
	d := deliveryOf(0, "", entries[0])
	return max(0, s.cfg.Now().Sub(d.At))
}

// setQueueGauges sets the gauges.
func (s *Service) setQueueGauges(ctx context.Context) error {
	stats, err := s.Stats(ctx)
	if err != nil {
		return err
	}
	m := s.writer.m
	for _, q := range stats {
		m.lag.WithLabelValues(q.Name).Set(float64(q.Lag))
		m.pending.WithLabelValues(q.Name).Set(float64(q.Pending))
		m.oldest.WithLabelValues(q.Name).Set(q.Oldest.Seconds())
		m.parked.WithLabelValues(q.Name).Set(float64(q.Parked))
	}
	return nil
}
