package shop

import (
	"context"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/ent"
	entshop "github.com/tandian-dev/tandian/ent/shop"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/schedule"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// Derived returns the job that computes the columns that filters and rankings read: until when
// vouchers are on sale, the trend, and when the shop may be open. Writes keep them current.
// The job corrects them after an upgrade, a crash or a change of the time zone, and ends trends
// without recent activity. It reads pages of 500 shops and pauses for as long.
func (s *Service) Derived() schedule.Job {
	return schedule.Job{Name: "shop.derived", Every: rewriteEvery, Timeout: rewriteLimit, Do: s.derive}
}

func (s *Service) derive(ctx context.Context) error {
	for after, more := int64(0), true; more; {
		began := time.Now()
		query := s.db.Shop.Query().Where(entshop.IDGT(after)).Order(entshop.ByID()).Limit(rewritePage)
		query.Select(entshop.FieldID, entshop.FieldOpenHours, entshop.FieldOpenMask, entshop.FieldTimeZone)
		rows, err := query.All(ctx)
		if err != nil {
			return fmt.Errorf("select shops after %d: %w", after, err)
		}
		if len(rows) == 0 {
			return nil
		}
		after, more = rows[len(rows)-1].ID, len(rows) == rewritePage
		if err := s.derivePage(ctx, rows); err != nil {
			return err
		}
		if err := clock.Sleep(ctx, time.Since(began)); err != nil {
			return fmt.Errorf("derive columns after shop %d: %w", after, err)
		}
	}
	return nil
}

func (s *Service) derivePage(ctx context.Context, rows []*ent.Shop) error {
	ctx, cancel := context.WithTimeout(ctx, rewriteTimeout)
	defer cancel()
	ids := make([]int64, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
		if err := s.deriveMask(ctx, r); err != nil {
			return err
		}
	}
	var changed []int64
	var jobs []outbox.JobRef
	err := ent.WithTxAgain(ctx, s.db, sqldb.Retryable, func(tx *ent.Tx) (err error) {
		changed, jobs, err = s.UpdateVouchers(ctx, tx, ids)
		return err
	})
	if err != nil {
		return err
	}
	if len(changed) > 0 {
		s.AfterCommit(ctx, changed, jobs)
	}
	return s.updateTrends(ctx, ids)
}

// deriveMask stores the mask of a row, unless its hours have changed since they were read. No
// cached value contains the mask.
func (s *Service) deriveMask(ctx context.Context, r *ent.Shop) error {
	want := openMask(r.OpenHours, s.zones.location(r.TimeZone))
	if want == nil && r.OpenMask == nil || want != nil && r.OpenMask != nil && *want == *r.OpenMask {
		return nil
	}
	same := entshop.OpenHoursIsNil()
	if r.OpenHours != nil {
		same = entshop.OpenHours(*r.OpenHours)
	}
	change := s.db.Shop.Update().Where(entshop.ID(r.ID), entshop.TimeZone(r.TimeZone), same)
	if want == nil {
		change.ClearOpenMask()
	} else {
		change.SetOpenMask(*want)
	}
	if err := change.Exec(ctx); err != nil {
		return fmt.Errorf("store when shop %d may be open: %w", r.ID, err)
	}
	return nil
}
