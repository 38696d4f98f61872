package visit

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/civil"
	"github.com/tandian-dev/tandian/internal/kit/hyperloglog"
	"github.com/tandian-dev/tandian/internal/kit/observe"
)

// MaxDays is the maximum length of a range of days.
const MaxDays = 366

// ShopStats returns the visits to a shop in a range of days, including both ends. A visitor
// counts once. The result includes the last flush of each process, about a second ago. A
// range must have 1 to [MaxDays] days, otherwise the error is BAD_USER_INPUT.
//
// It costs one statement and two round trips: a read of the days in Redis, and a PFMERGE
// with the rows of the other days. Any other error means that the database or Redis failed:
// the rows alone lack the latest visitors.
func (s *Service) ShopStats(ctx context.Context, shop int64, from, to civil.Date) (*Stats, error) {
	ctx, span := observe.Span(ctx, "visit.OfShop")
	defer span.End()
	days, err := daysOf(from, to)
	if err != nil {
		return nil, err
	}
	rows, err := s.rowsOf(ctx, shop, dayOf(from), dayOf(to), true) // before Redis: see viewsOf
	if err != nil {
		return nil, err
	}
	live, err := s.liveOf(ctx, shop, days)
	if err != nil {
		return nil, err
	}
	stats, history, keys := &Stats{}, new(hyperloglog.Sketch), []string(nil)
	for _, date := range days {
		row, now := rows[dayOf(date)], live[dayOf(date)]
		stats.Views += viewsOf(row, now)
		if now != nil {
			keys = append(keys, s.keys.visitors(bucket{shop, dayOf(date)}))
		}
		if row != nil && !now.hasAllOf(row) {
			history.Merge(s.read(ctx, row.Sketch))
		}
	}
	n, err := s.merged(ctx, shop, history, keys)
	stats.UniqueVisitors = int(n)
	return stats, err
}

// ShopStatsByDay returns the visits to a shop on each day of a range, in order. Its freshness
// and errors are those of [Service.ShopStats]. It costs one statement and a round trip, and
// one more of each if Redis lost data of one of these days.
func (s *Service) ShopStatsByDay(ctx context.Context, shop int64, from, to civil.Date) ([]Stats, error) {
	ctx, span := observe.Span(ctx, "visit.OfShopByDay")
	defer span.End()
	return s.byDay(ctx, shop, from, to)
}

// SiteStats is [Service.ShopStatsByDay] for the whole site.
func (s *Service) SiteStats(ctx context.Context, from, to civil.Date) ([]Stats, error) {
	ctx, span := observe.Span(ctx, "visit.OfSite")
	defer span.End()
	return s.byDay(ctx, site, from, to)
}

func (s *Service) byDay(ctx context.Context, shop int64, from, to civil.Date) ([]Stats, error) {
	days, err := daysOf(from, to)
	if err != nil {
		return nil, err
	}
	rows, err := s.rowsOf(ctx, shop, dayOf(from), dayOf(to), false)
	if err != nil {
		return nil, err
	}
	live, err := s.liveOf(ctx, shop, days)
	if err != nil {
		return nil, err
	}
	stats, partial := make([]Stats, len(days)), map[int]*Stats{}
	for i, date := range days {
		day := dayOf(date)
		row, now := rows[day], live[day]
		stats[i] = Stats{Date: &days[i], Views: viewsOf(row, now)}
		switch {
		case now == nil && row == nil: // no visits
		case now == nil:
			stats[i].UniqueVisitors = row.Uniques
		case row == nil || now.hasAllOf(row):
			stats[i].UniqueVisitors = int(now.visitors)
		default:
			partial[day] = &stats[i]
		}
	}
	return stats, s.mergePartial(ctx, shop, partial)
}

// mergePartial counts the visitors of days for which neither the row nor Redis has all.
func (s *Service) mergePartial(ctx context.Context, shop int64, partial map[int]*Stats) error {
	if len(partial) == 0 {
		return nil
	}
	from, to := 0, 0
	days := make([]bucket, 0, len(partial))
	for day := range partial {
		if from == 0 {
			from, to = day, day
		}
		from, to = min(from, day), max(to, day)
		days = append(days, bucket{shop, day})
	}
	rows, err := s.rowsOf(ctx, shop, from, to, true)
	if err != nil {
		return err
	}
	found, err := s.stored(ctx, days)
	if err != nil {
		return err
	}
	for day, stats := range partial {
		all := s.read(ctx, found[bucket{shop, day}].sketch)
		if row := rows[day]; row != nil {
			all.Merge(s.read(ctx, row.Sketch))
		}
		stats.UniqueVisitors = int(all.Count())
	}
	return nil
}

// daysOf returns the days of a range. An invalid range is BAD_USER_INPUT.
func daysOf(from, to civil.Date) ([]civil.Date, error) {
	n := civil.Days(from, to)
	if n < 1 || n > MaxDays {
		return nil, apierror.BadInput("The range must have 1 to %d days, not %d.", MaxDays, n)
	}
	days := make([]civil.Date, n)
	for i := range days {
		days[i] = from.Add(i)
	}
	return days, nil
}

type liveDay struct {
	redisDay
	visitors int64
}

// hasAllOf reports whether Redis has all visitors of a row: the day was rolled up, and
// restored, since Redis last lost data.
func (d *liveDay) hasAllOf(row *ent.VisitDay) bool {
	return d != nil && d.counter != "" && d.counter == row.Counter
}

// viewsOf returns the views of a row and Redis together. Either may be nil. The row must be
// read first: later roll-ups are then part of the difference.
func viewsOf(row *ent.VisitDay, now *liveDay) int {
	var n int64
	if row != nil {
		n = row.Views
	}
	if now != nil {
		n += beyond(row, now.redisDay)
	}
	return int(n)
}

// liveOf reads the days that may be in Redis, in one round trip.
func (s *Service) liveOf(ctx context.Context, shop int64, days []civil.Date) (map[int]*liveDay, error) {
	ctx, cancel := context.WithTimeout(ctx, redisTime)
	defer cancel()
	// Zones and clocks of other processes may be a day ahead.
	now := s.cfg.Now().In(s.cfg.Zone)
	oldest, newest := dayOf(civil.DateOf(now.Add(-keep).AddDate(0, 0, -1))), dayOf(civil.DateOf(now.AddDate(0, 0, 1)))
	pipe := s.rdb.Pipeline()
	views, visitors := map[int]*redis.SliceCmd{}, map[int]*redis.IntCmd{}
	for _, date := range days {
		if day := dayOf(date); oldest <= day && day <= newest {
			b := bucket{shop, day}
			views[day], visitors[day] = pipe.HMGet(ctx, s.keys.views(b), "n", "c"), pipe.PFCount(ctx, s.keys.visitors(b))
		}
	}
	if len(views) == 0 {
		return nil, nil
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, fmt.Errorf("read visits of %s from Redis: %w", nameOf(shop), err)
	}
	found := map[int]*liveDay{}
	for day, answer := range views {
		one, err := dayIn(answer)
		if err != nil {
			return nil, err
		}
		if n := visitors[day].Val(); n > 0 || one.views > 0 {
			found[day] = &liveDay{one, n}
		}
	}
	return found, nil
}

// merged counts the visitors in a sketch and under keys of a shop. It merges them under a
// unique key, in one round trip.
func (s *Service) merged(ctx context.Context, shop int64, history *hyperloglog.Sketch, keys []string) (int64, error) {
	if len(keys) == 0 {
		return history.Count(), nil
	}
	ctx, cancel := context.WithTimeout(ctx, redisTime)
	defer cancel()
	to := s.keys.merged(shop)
	pipe := s.rdb.Pipeline()
	pipe.Set(ctx, to, history.Bytes(), keepTmp)
	pipe.PFMerge(ctx, to, keys...)
	n := pipe.PFCount(ctx, to)
	pipe.Unlink(ctx, to)
	if _, err := pipe.Exec(ctx); err != nil {
		return 0, fmt.Errorf("merge %d days of %s: %w", len(keys), nameOf(shop), err)
	}
	return n.Val(), nil
}
