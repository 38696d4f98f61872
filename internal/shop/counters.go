package shop

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// OwnerOf returns the owner of a shop, nil if it has none. It returns false if the shop
// does not exist. It is as fresh as [Service.ByID].
func (s *Service) OwnerOf(ctx context.Context, shopID int64) (owner *int64, ok bool, err error) {
	shop, err := s.ByID(ctx, shopID)
	if errors.Is(err, apierror.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return shop.OwnerID, true, nil
}

// AddSold adds to the sold counters of shops, by shop id, in tx. Increments may be
// negative. It ignores missing shops. After the commit, pass the jobs to
// [Service.AfterCommit].
func (s *Service) AddSold(ctx context.Context, tx *ent.Tx, sold map[int64]int) ([]outbox.JobRef, error) {
	rows := make([]addition, 0, len(sold))
	for id, n := range sold {
		rows = append(rows, addition{ID: id, Sold: n})
	}
	return s.count(ctx, tx, rows)
}

// AddComments adds to the comment counters of shops, like [Service.AddSold]. After the
// commit, pass the jobs to [Service.AfterCommitCounts].
func (s *Service) AddComments(ctx context.Context, tx *ent.Tx, comments map[int64]int) ([]outbox.JobRef, error) {
	rows := make([]addition, 0, len(comments))
	for id, n := range comments {
		rows = append(rows, addition{ID: id, Comments: n})
	}
	return s.count(ctx, tx, rows)
}

// addition holds the increments of one shop, for add_counts.
type addition struct {
	ID       int64 `json:"id"`
	Sold     int   `json:"sold"`
	Comments int   `json:"comments"`
}

// count adds to the counters of shops. Each shop occurs once in rows.
func (s *Service) count(ctx context.Context, tx *ent.Tx, rows []addition) ([]outbox.JobRef, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	ids := make([]int64, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	slices.Sort(ids)
	if len(ids) > 1 { // in id order, to prevent deadlocks
		if err := s.lock(ctx, tx, ids); err != nil {
			return nil, err
		}
	}
	if _, err := tx.ExecContext(sqldb.Prepared(ctx), s.sql.addCounts, sqldb.JSON(rows)); err != nil {
		return nil, fmt.Errorf("update %d shops: %w", len(ids), err)
	}
	return outbox.AddBatch(ctx, s.outbox, tx, shopsChanged, ids...)
}

// lock locks shops until tx ends, in id order.
func (s *Service) lock(ctx context.Context, tx *ent.Tx, ids []int64) error {
	if err := s.sql.lockCounts.Each(ctx, tx, ids, func(*sql.Rows) error { return nil }); err != nil {
		return fmt.Errorf("lock %d shops: %w", len(ids), err)
	}
	return nil
}

// UpdateVouchers stores in tx until when vouchers of shops are on sale, after tx has changed
// some of them. It locks the shops. After the commit, pass the changed ids and the jobs to
// [Service.AfterCommit].
func (s *Service) UpdateVouchers(ctx context.Context, tx *ent.Tx, ids []int64) (changed []int64, jobs []outbox.JobRef, err error) {
	if err := s.lock(ctx, tx, ids); err != nil {
		return nil, nil, err
	}
	err = s.sql.updateVouchers.Each(ctx, tx, ids, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		changed = append(changed, id)
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("store the vouchers of %d shops: %w", len(ids), err)
	}
	if len(changed) > 0 {
		jobs, err = outbox.AddBatch(ctx, s.outbox, tx, shopsChanged, changed...)
	}
	return changed, jobs, err
}

// AfterCommit is [Service.Invalidate] after the commit of a change. If Redis fails, the
// outbox retries.
func (s *Service) AfterCommit(ctx context.Context, ids []int64, jobs []outbox.JobRef) {
	s.outbox.Finish(ctx, s.Invalidate(ctx, ids...), jobs...)
}

// AfterCommitCounts is [Service.AfterCommit] for changes of counters. It invalidates rows,
// but no lists: otherwise each comment would invalidate all of them.
func (s *Service) AfterCommitCounts(ctx context.Context, ids []int64, jobs []outbox.JobRef) {
	s.outbox.Finish(ctx, outbox.Transient(s.shops.Invalidate(ctx, ids...)), jobs...)
}
