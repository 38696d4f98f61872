package visit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	flushEvery    = time.Second
	flushTimeout  = 2 * time.Second
	shutdownGrace = 5 * time.Second // for the last flush
	batchCommands = 498             // per pipeline, plus two at its end
	batchVisitors = 500             // per PFADD
	batchShops    = 500             // per call of Shops.Known
)

// Run flushes this process's visits to Redis every second until ctx ends, then a last time,
// and returns nil. It repeats a failed flush with the next one. If only the reply of Redis
// was lost, the views count twice.
func (s *Service) Run(ctx context.Context) error {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.note(ctx, doingFlush, s.Flush(ctx))
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
			defer cancel()
			s.note(last, doingFlush, s.Flush(last))
			return nil
		}
	}
}

func (s *Service) note(ctx context.Context, doing string, err error) {
	if err != nil {
		s.failures.Record(ctx, doing, err)
	}
}

// Flush sends the recorded visits to Redis. [Service.Run] calls it. Calls must not overlap.
func (s *Service) Flush(ctx context.Context) error {
	taken := s.buffer.take()
	if len(taken) == 0 {
		return nil
	}
	err := s.dropUnknown(ctx, taken)
	var batch []flushItem
	commands := 0
	for b, t := range taken {
		one := flushItem{bucket: b, count: t}
		if n := one.commands(); commands+n > batchCommands && len(batch) > 0 {
			err = errors.Join(err, s.send(ctx, batch))
			batch, commands = nil, 0
		}
		batch = append(batch, one)
		commands += one.commands()
	}
	if len(batch) > 0 {
		err = errors.Join(err, s.send(ctx, batch))
	}
	return err
}

// dropUnknown removes shops that do not exist, so that anonymous clients cannot create keys.
// Shops that cannot be checked wait for the next flush; the site does not.
func (s *Service) dropUnknown(ctx context.Context, taken map[bucket]*dayCount) error {
	var shops []int64
	for b := range taken {
		if b.shop != site {
			shops = append(shops, b.shop)
		}
	}
	slices.Sort(shops)
	shops = slices.Compact(shops)
	known, checked := map[int64]bool{}, map[int64]bool{}
	var failed error
	for part := range slices.Chunk(shops, batchShops) {
		found, err := s.cfg.Shops.Exist(ctx, part)
		if err != nil {
			failed = fmt.Errorf("check %d shops: %w", len(part), err)
			break
		}
		for _, id := range part {
			checked[id], known[id] = true, found[id]
		}
	}
	for b, t := range taken {
		switch {
		case b.shop == site || known[b.shop]:
			continue
		case checked[b.shop]:
			s.counts.unknown.Add(float64(t.views))
		default:
			s.buffer.restore(b, t)
		}
		delete(taken, b)
	}
	return failed
}

// A flushItem is a bucket in a flush, with its Redis commands.
type flushItem struct {
	bucket   bucket
	count    *dayCount
	views    *redis.IntCmd // nil without views
	visitors []redis.Cmder
	rest     []redis.Cmder
}

func (one flushItem) commands() int {
	return 6 + (len(one.count.visitors)+batchVisitors-1)/batchVisitors
}

// send sends buckets in one pipeline. Counts that Redis did not confirm wait for the next flush.
func (s *Service) send(ctx context.Context, batch []flushItem) error {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	micros := s.cfg.Now().UnixMicro()
	_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range batch {
			s.enqueue(ctx, p, &batch[i], micros+int64(i))
		}
		p.ZRemRangeByRank(ctx, s.keys.dirty(), 0, -maxDirty-1)
		p.Expire(ctx, s.keys.dirty(), keep)
		return nil
	})
	if err == nil {
		return nil
	}
	for _, one := range batch {
		if left, missing := one.missing(); missing {
			s.buffer.restore(one.bucket, left)
		}
	}
	return fmt.Errorf("send %d visit counts to Redis: %w", len(batch), err)
}

// enqueue adds the commands of a bucket to a pipeline. The counter gets its name before it
// counts, and the day becomes dirty after that.
func (s *Service) enqueue(ctx context.Context, p redis.Pipeliner, one *flushItem, micros int64) {
	views, visitors := s.keys.views(one.bucket), s.keys.visitors(one.bucket)
	if one.count.views > 0 {
		one.rest = append(one.rest, p.HSetNX(ctx, views, "c", newName()))
		one.views = p.HIncrBy(ctx, views, "n", one.count.views)
		one.rest = append(one.rest, p.Expire(ctx, views, keep))
	}
	all := make([]any, 0, len(one.count.visitors))
	for visitor := range one.count.visitors {
		all = append(all, visitor)
	}
	for part := range slices.Chunk(all, batchVisitors) {
		one.visitors = append(one.visitors, p.PFAdd(ctx, visitors, part...))
	}
	if len(all) > 0 {
		one.rest = append(one.rest, p.Expire(ctx, visitors, keep))
	}
	one.rest = append(one.rest, p.ZAdd(ctx, s.keys.dirty(), redis.Z{Score: float64(micros), Member: memberOf(one.bucket)}))
}

// missing returns the part of a bucket that Redis did not confirm.
func (one flushItem) missing() (left *dayCount, missing bool) {
	failed := func(c redis.Cmder) bool { return c.Err() != nil }
	left = &dayCount{}
	if one.views != nil && failed(one.views) {
		left.views, missing = one.count.views, true
	}
	if slices.ContainsFunc(one.visitors, failed) {
		left.visitors, missing = one.count.visitors, true
	}
	if slices.ContainsFunc(one.rest, failed) {
		missing = true // an empty bucket repeats the dirty mark and the expiry
	}
	return left, missing
}
