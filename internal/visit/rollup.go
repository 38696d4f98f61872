package visit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/hyperloglog"
	"github.com/tandian-dev/tandian/internal/kit/schedule"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

const (
	rollEvery   = time.Minute
	rollTimeout = 10 * time.Second // of a page
	rollPage    = 100              // days, of up to 12 KB each
	redisTime   = time.Second      // timeout of a round trip

	// quiet is the time without a flush after which a day is clean: longer than clock skew
	// and a running flush. A busy day stays dirty until it is over.
	quiet = 10 * time.Second
)

// Jobs returns the scheduled jobs. visit.roll-up stores the counts of Redis in rows.
func (s *Service) Jobs() []schedule.Job {
	return []schedule.Job{{Name: "visit.roll-up", Every: rollEvery, Do: s.RollUp}}
}

// RollUp stores the changes in Redis since the last roll-up, in pages. It may be repeated,
// interrupted and run in several processes: it locks the rows, and each row records how much
// of which counter it contains.
func (s *Service) RollUp(ctx context.Context) error {
	after := "-inf"
	for {
		read, cancel := context.WithTimeout(ctx, redisTime)
		page, err := s.rdb.ZRangeArgsWithScores(read, redis.ZRangeArgs{
			Key: s.keys.dirty(), Start: after, Stop: "+inf", ByScore: true, Count: rollPage,
		}).Result()
		cancel()
		if err != nil {
			return fmt.Errorf("read days to roll up: %w", err)
		}
		if err := s.rollPage(ctx, page); err != nil {
			return err
		}
		if len(page) < rollPage {
			return nil
		}
		after = "(" + decimal(page[len(page)-1].Score)
	}
}

// rollPage rolls up some days and removes those that are then clean.
func (s *Service) rollPage(ctx context.Context, page []redis.Z) error {
	if len(page) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, rollTimeout)
	defer cancel()
	began := s.cfg.Now()
	var days []bucket
	for _, z := range page {
		if b, ok := parseMember(z.Member); ok { // skip foreign members
			days = append(days, b)
		}
	}
	slices.SortFunc(days, byDay)
	unnamed := map[bucket]bool{}
	err := ent.WithTxAgain(ctx, s.db, sqldb.Retryable, func(tx *ent.Tx) error {
		clear(unnamed)
		return s.store(ctx, tx, days, unnamed)
	})
	if err != nil {
		return fmt.Errorf("roll up %d days of visits: %w", len(days), err)
	}
	for _, b := range days {
		if b.shop != site {
			s.cfg.Shops.Touch(b.shop)
		}
	}
	var clean []any
	for _, z := range page {
		b, _ := parseMember(z.Member)
		if began.Sub(time.UnixMicro(int64(z.Score))) >= quiet && !unnamed[b] {
			clean = append(clean, z.Member, decimal(z.Score))
		}
	}
	if len(clean) == 0 {
		return nil
	}
	if err := s.markRolledUp.Run(ctx, s.rdb, []string{s.keys.dirty()}, clean...).Err(); err != nil {
		return fmt.Errorf("remove rolled up days: %w", err)
	}
	return nil
}

// store saves the data of days in Redis to the rows. It reads Redis while it holds the locks
// of the rows, so another process reads and stores entirely before or after it.
func (s *Service) store(ctx context.Context, tx *ent.Tx, days []bucket, unnamed map[bucket]bool) error {
	rows, err := lockRows(ctx, tx, days)
	if err != nil {
		return err
	}
	found, err := s.stored(ctx, days)
	if err != nil {
		return err
	}
	var changed []*ent.VisitDay
	forgotten := map[bucket][]byte{}
	for _, b := range days {
		if found[b].counter == "" && found[b].views > 0 {
			unnamed[b] = true
		}
		row := rows[b]
		if row == nil {
			continue // just deleted
		}
		more, forgot := s.take(ctx, row, found[b])
		if more {
			changed = append(changed, row)
		}
		if forgot {
			forgotten[b] = row.Sketch
		}
	}
	if err := s.restoreVisitors(ctx, forgotten); err != nil {
		return err
	}
	return saveRows(ctx, tx, changed)
}

// restoreVisitors merges the visitors of rows into days that lost them in Redis and are still
// counting. Then Redis has all visitors of a row with the same counter, which readers rely on.
func (s *Service) restoreVisitors(ctx context.Context, forgotten map[bucket][]byte) error {
	if len(forgotten) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, redisTime)
	defer cancel()
	_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for b, sketch := range forgotten {
			from, to := s.keys.merged(b.shop), s.keys.visitors(b)
			p.Set(ctx, from, sketch, keepTmp)
			p.PFMerge(ctx, to, from)
			p.Expire(ctx, to, keep)
			p.Unlink(ctx, from)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("restore visitors of %d days in Redis: %w", len(forgotten), err)
	}
	return nil
}

// A redisDay is the data of a day in Redis.
type redisDay struct {
	views   int64
	counter string // name of the counter; "" if missing
	sketch  []byte // nil if missing or not requested
}

// stored reads days from Redis, with their visitors. A counter without a name gets a new
// one, so that the next roll-up can distinguish it: the name was lost just before the count.
func (s *Service) stored(ctx context.Context, days []bucket) (map[bucket]redisDay, error) {
	ctx, cancel := context.WithTimeout(ctx, redisTime)
	defer cancel()
	pipe := s.rdb.Pipeline()
	views, sketches := make([]*redis.SliceCmd, len(days)), make([]*redis.StringCmd, len(days))
	for i, b := range days {
		views[i], sketches[i] = pipe.HMGet(ctx, s.keys.views(b), "n", "c"), pipe.Get(ctx, s.keys.visitors(b))
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return nil, fmt.Errorf("read %d days from Redis: %w", len(days), err)
	}
	found := make(map[bucket]redisDay, len(days))
	for i, b := range days {
		sketch, err := sketches[i].Bytes()
		if err != nil && !errors.Is(err, redis.Nil) {
			return nil, fmt.Errorf("read visitors of %s from Redis: %w", memberOf(b), err)
		}
		day, err := dayIn(views[i])
		if err != nil {
			return nil, err
		}
		day.sketch = sketch
		found[b] = day
		if day.counter == "" && day.views > 0 {
			if err := s.rdb.HSetNX(ctx, s.keys.views(b), "c", newName()).Err(); err != nil {
				return nil, fmt.Errorf("name view counter: %w", err)
			}
		}
	}
	return found, nil
}

func dayIn(answer *redis.SliceCmd) (redisDay, error) {
	values, err := answer.Result()
	if err != nil || len(values) != 2 {
		return redisDay{}, fmt.Errorf("read view counter from Redis: %w", err)
	}
	number, _ := values[0].(string)
	name, _ := values[1].(string)
	n, _ := strconv.ParseInt(number, 10, 64) // HINCRBY wrote it; a missing one is 0
	return redisDay{views: n, counter: name}, nil
}

// take adds the data of a day in Redis to its row. changed reports whether the row has
// changed, forgot whether Redis counts the day but lacks visitors of the row.
func (s *Service) take(ctx context.Context, row *ent.VisitDay, day redisDay) (changed, forgot bool) {
	if day.counter != "" && (day.counter != row.Counter || day.views != row.Counted) {
		row.Views += beyond(row, day)
		row.Counter, row.Counted, changed = day.counter, day.views, true
	}
	theirs, ours := s.read(ctx, day.sketch), s.read(ctx, row.Sketch)
	both := *ours
	both.Merge(theirs)
	if both != *ours || len(row.Sketch) == 0 {
		row.Sketch, row.Uniques, changed = both.Bytes(), int(both.Count()), true
	}
	return changed, day.counter != "" && both != *theirs
}

// beyond returns the number of views in Redis that are not in a row. It is 0 for a counter
// that went back, for example on a lagging replica.
func beyond(row *ent.VisitDay, day redisDay) int64 {
	if row == nil || row.Counter != day.counter {
		return day.views
	}
	return max(0, day.views-row.Counted)
}

// read parses a sketch. It records an invalid one as a failure and returns an empty sketch.
func (s *Service) read(ctx context.Context, b []byte) *hyperloglog.Sketch {
	sketch, err := hyperloglog.Parse(b)
	if err != nil {
		s.note(ctx, doingRead, err)
		return new(hyperloglog.Sketch)
	}
	return sketch
}

// memberOf returns the member of a day in the sorted set dirty.
func memberOf(b bucket) string { return nameOf(b.shop) + ":" + strconv.Itoa(b.day) }

func parseMember(member any) (b bucket, ok bool) {
	text, _ := member.(string)
	name, day, _ := strings.Cut(text, ":")
	var err, err2 error
	if name != nameOf(site) {
		b.shop, err = strconv.ParseInt(name, 10, 64)
	}
	b.day, err2 = strconv.Atoi(day)
	return b, err == nil && err2 == nil && memberOf(b) == text
}

// decimal formats a score, which is a whole number.
func decimal(score float64) string { return strconv.FormatInt(int64(score), 10) }
