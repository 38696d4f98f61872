package rating

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/optional"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/reconcile"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

const (
	scanPage   = 500
	scanShops  = 5000             // per second
	countLimit = 30 * time.Second // per statement
)

// Scans returns the consistency scan of the counters and scores of shops.
func (s *Service) Scans() []reconcile.Scan {
	return []reconcile.Scan{{
		Name: "shop-ratings", Description: "counters of ratings and scores of shops, against ratings", Rate: scanShops,
		Run: func(ctx context.Context, r *reconcile.Run) error {
			read := func(ctx context.Context, after int64, limit int) ([]drift, error) {
				return s.count(ctx, s.db, after, limit)
			}
			return reconcile.Counters(ctx, r, scanPage, read, s.describe, s.repair)
		},
	}}
}

// drift is a shop with its counters as stored and as counted.
type drift struct {
	id             int64
	imported       float64  // score
	score          *float64 // as stored
	stored, actual Counters
}

func (s *Service) describe(d drift) (id int64, differs string) {
	want := s.shops.Score(d.actual, d.imported)
	switch {
	case d.stored != d.actual:
		return d.id, fmt.Sprintf("shop %d: ratings %v stored, %v counted", d.id, d.stored, d.actual)
	case (d.score == nil) != (want == nil) || optional.Value(d.score) != optional.Value(want):
		return d.id, fmt.Sprintf("shop %d: score %v stored, want %v", d.id, optional.Value(d.score), optional.Value(want))
	}
	return d.id, ""
}

func (s *Service) count(ctx context.Context, db sqldb.Querier, after int64, limit int) (page []drift, err error) {
	ctx, cancel := context.WithTimeout(ctx, countLimit)
	defer cancel()
	err = sqldb.Each(ctx, db, s.sql.count, []any{after, limit}, func(rows *sql.Rows) error {
		var d drift
		into := []any{&d.id, &d.imported, &d.score}
		for _, c := range []*Counters{&d.stored, &d.actual} {
			for i := range c.Stars {
				into = append(into, &c.Stars[i])
			}
			into = append(into, &c.Taste.Count, &c.Taste.Sum, &c.Environment.Count, &c.Environment.Sum, &c.Service.Count, &c.Service.Sum)
		}
		err := rows.Scan(into...)
		page = append(page, d)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count ratings of each shop after %d: %w", after, err)
	}
	return page, nil
}

// repair corrects the counters and the score of a shop while it is locked. Concurrent ratings
// and repairs wait for the lock, so the second of two repairs finds correct counters.
func (s *Service) repair(ctx context.Context, id int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	counters := Pair{Shop: id}
	var jobs []outbox.JobRef
	err := s.tx(ctx, func(tx *ent.Tx) error {
		jobs = nil
		shops, set, err := s.shops.LockRatings(ctx, tx, []int64{id})
		if err != nil {
			return fmt.Errorf("lock shop: %w", err)
		}
		page, err := s.count(ctx, tx, id-1, 1)
		if err != nil || shops[id] == nil || len(page) == 0 || page[0].id != id {
			return err
		}
		if _, differs := s.describe(page[0]); differs == "" {
			return nil
		}
		shops[id].Counters = page[0].actual
		if err := set(ctx, []int64{id}); err != nil {
			return err
		}
		jobs, err = outbox.AddBatch(ctx, s.outbox, tx, topic, counters)
		return err
	})
	if err != nil {
		return fmt.Errorf("repair ratings of shop %d: %w", id, err)
	}
	s.outbox.Finish(ctx, s.invalidate(ctx, counters), jobs...)
	return nil
}
