package shop

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// The trend of a shop is its recent activity, which decays exponentially:
//
//	trend = log2 Σ weight · 2^(day / halfLife)
//
// over all activity of the last trendDays days, with days since 1970. It does not depend on the
// current time: as all activity decays equally, the order changes only with new activity. So an
// index contains it. G. Cormode et al. describe this forward decay in "Forward Decay: A Practical
// Time Decay Model for Streaming Systems", ICDE 2009.
//
// It is a function of rows. So it may be computed late, twice and in any process.
const (
	halfLife   = 2.0 // days
	trendDays  = 28
	trendEvery = 2 * time.Second // between computations of changed shops
	trendBatch = 500             // shops in a transaction
	trendLimit = 10 * time.Second
	maxTouched = 100_000 // shops that wait; the job shop.derived computes the others
)

// weightOf returns the weight of one activity.
func weightOf(kind string) float64 {
	switch kind {
	case "note":
		return 5
	case "rating", "save":
		return 3
	}
	return 1 // a unique visitor
}

// Touch marks shops whose activity changed. [Service.Run] computes their trends within
// seconds. If the process dies before, the job shop.derived does.
func (s *Service) Touch(ids ...int64) {
	s.touchMu.Lock()
	defer s.touchMu.Unlock()
	for _, id := range ids {
		if len(s.touched) < maxTouched {
			s.touched[id] = true
		}
	}
}

// runTrends computes the trends of touched shops until ctx ends.
func (s *Service) runTrends(ctx context.Context) error {
	tick := time.NewTicker(trendEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := s.UpdateTouched(ctx); err != nil && ctx.Err() == nil {
				s.log.ErrorContext(ctx, "cannot update trends of shops", "err", err)
			}
		}
	}
}

// UpdateTouched computes the trends of the shops that were touched before the call. After an
// error, they stay touched.
func (s *Service) UpdateTouched(ctx context.Context) error {
	s.touchMu.Lock()
	touched := s.touched
	s.touched = map[int64]bool{}
	s.touchMu.Unlock()
	ids := slices.Sorted(maps.Keys(touched))
	for batch := range slices.Chunk(ids, trendBatch) {
		if err := s.updateTrends(ctx, batch); err != nil {
			s.Touch(ids...)
			return err
		}
	}
	return nil
}

// updateTrends computes the trends of shops and invalidates the rankings of those that changed.
func (s *Service) updateTrends(ctx context.Context, ids []int64) error {
	ctx, cancel := context.WithTimeout(ctx, trendLimit)
	defer cancel()
	var types []int64
	err := ent.WithTxAgain(ctx, s.db, sqldb.Retryable, func(tx *ent.Tx) error {
		types = nil
		// Lock first: an older computation of another process must not replace this one.
		if err := s.lock(ctx, tx, ids); err != nil {
			return err
		}
		trends, err := s.trends(ctx, tx, ids)
		if err != nil {
			return err
		}
		return sqldb.Each(sqldb.Prepared(ctx), tx, s.sql.setTrends, []any{sqldb.JSON(trends)}, func(rows *sql.Rows) error {
			var id int64
			err := rows.Scan(&id)
			types = append(types, id)
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("update the trends of %d shops: %w", len(ids), err)
	}
	if len(types) == 0 {
		return nil
	}
	return s.invalidateRankings(ctx, types, Trending)
}

type trend struct {
	ID    int64    `json:"id"`
	Trend *float64 `json:"trend"` // nil without activity
}

// trends computes the trends of shops from the rows.
func (s *Service) trends(ctx context.Context, db sqldb.Querier, ids []int64) ([]trend, error) {
	first := s.now().UnixMilli()/dayMillis - trendDays
	date := time.UnixMilli(first * dayMillis).UTC()
	sums := map[int64]float64{}
	args := []any{sqldb.JSON(ids), first, yyyymmdd(date)}
	err := sqldb.Each(sqldb.Prepared(ctx), db, s.sql.activity, args, func(rows *sql.Rows) error {
		var id, day, n int64
		var kind string
		if err := rows.Scan(&id, &kind, &day, &n); err != nil {
			return err
		}
		if kind == "visit" {
			day = time.Date(int(day/10000), time.Month(day/100%100), int(day%100), 0, 0, 0, 0, time.UTC).UnixMilli() / dayMillis
		}
		sums[id] += weightOf(kind) * float64(n) * math.Exp2(float64(day-first)/halfLife)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("count the activity of %d shops: %w", len(ids), err)
	}
	list := make([]trend, len(ids))
	for i, id := range ids {
		list[i].ID = id
		if sum := sums[id]; sum > 0 {
			// Six decimals, as in the rankings.
			value := math.Round(1e6*(math.Log2(sum)+float64(first)/halfLife)) / 1e6
			list[i].Trend = &value
		}
	}
	return list, nil
}

const dayMillis = 24 * 60 * 60 * 1000

func yyyymmdd(t time.Time) int { return t.Year()*10000 + int(t.Month())*100 + t.Day() }
