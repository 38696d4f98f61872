package flashsale

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// QueueStat is the state of one order queue over all processes.
type QueueStat struct {
	Name    string        // sale:P for partition P
	Lag     int           // unread entries
	Pending int           // entries that a consumer has read and not stored
	Oldest  time.Duration // age of the oldest entry; 0 for an empty queue
	Parked  int           // entries that could not be stored; only the newest are retained
}

// Stats returns the state of all queues, in one round trip. It returns an error if Redis does
// not answer for all of them.
func (s *Service) Stats(ctx context.Context) ([]QueueStat, error) {
	ctx, cancel := context.WithTimeout(ctx, tripTimeout)
	defer cancel()
	type replies struct {
		all, parked *redis.IntCmd
		pending     *redis.XPendingCmd
		first       *redis.XMessageSliceCmd
	}
	of := make([]replies, s.admitter.partitions)
	pipe := s.admitter.state.Pipeline()
	for p := range of {
		stream := s.admitter.keys.orders(p)
		of[p] = replies{pipe.XLen(ctx, stream), pipe.XLen(ctx, s.admitter.keys.parked(p)), pipe.XPending(ctx, stream, group), pipe.XRangeN(ctx, stream, "-", "+", 1)}
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	stats := make([]QueueStat, len(of))
	for p, a := range of {
		pending := 0
		summary, err := a.pending.Result()
		switch {
		case err == nil:
			pending = int(summary.Count)
		case redis.HasErrorPrefix(err, "NOGROUP"): // no consumer has started yet
			err = nil
		}
		if err := errors.Join(err, a.all.Err(), a.parked.Err(), a.first.Err()); err != nil {
			return nil, fmt.Errorf("read the order queues: %w", err)
		}
		stats[p] = QueueStat{
			Name: "sale:" + strconv.Itoa(p), Lag: max(0, int(a.all.Val())-pending), Pending: pending,
			Oldest: s.ageOf(a.first.Val()), Parked: int(a.parked.Val()),
		}
	}
	return stats, nil
}

// ageOf returns the age of the first entry. Redis sets its time, so clock differences affect it.
func (s *Service) ageOf(entries []redis.XMessage) time.Duration {
	if len(entries) == 0 {
		return 0
	}
	d := deliveryOf(0, "", entries[0])
	return max(0, s.cfg.Now().Sub(d.At))
}

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
