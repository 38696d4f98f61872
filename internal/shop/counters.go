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

// OwnerOf returns the merchant that a shop belongs to, nil for nobody, and false if
// there is no such shop. It is as fresh as [Service.ByID].
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

// AddSold adds to what shops have sold, by id, negative numbers too. Shops that do
// not exist are overlooked. After the commit the tickets go to [Service.AfterCommit].
func (s *Service) AddSold(ctx context.Context, tx *ent.Tx, sold map[int64]int) ([]outbox.JobRef, error) {
	rows := make([]addition, 0, len(sold))
	for id, n := range sold {
		rows = append(rows, addition{ID: id, Sold: n})
	}
	return s.count(ctx, tx, rows)
}

// AddComments adds to the comments on notes about shops, by id, as [Service.AddSold]
// does to what they sold. After the commit the tickets go to [Service.AfterCommitCounts].
func (s *Service) AddComments(ctx context.Context, tx *ent.Tx, comments map[int64]int) ([]outbox.JobRef, error) {
	rows := make([]addition, 0, len(comments))
	for id, n := range comments {
		rows = append(rows, addition{ID: id, Comments: n})
	}
	return s.count(ctx, tx, rows)
}

// addition is a row of the parameter of add_counts: increments for one shop.
type addition struct {
	ID       int64 `json:"id"`
	Sold     int   `json:"sold"`
	Comments int   `json:"comments"`
}

// count adds to the counts of shops, each named once.
func (s *Service) count(ctx context.Context, tx *ent.Tx, rows []addition) ([]outbox.JobRef, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	ids := make([]int64, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	slices.Sort(ids)
	if len(ids) > 1 { // in one order, so that two transactions do not wait for each other
		if err := s.sql.lockCounts.Each(ctx, tx, ids, func(*sql.Rows) error { return nil }); err != nil {
			return nil, fmt.Errorf("lock %d shops: %w", len(ids), err)
		}
	}
	if _, err := tx.ExecContext(sqldb.Prepared(ctx), s.sql.addCounts, sqldb.JSON(rows)); err != nil {
		return nil, fmt.Errorf("update %d shops: %w", len(ids), err)
	}
	return outbox.AddBatch(ctx, s.outbox, tx, shopsChanged, ids...)
}

// AfterCommit is [Service.Invalidate] for the writer of a change, after its commit: what
// cannot be told now is left to the outbox.
func (s *Service) AfterCommit(ctx context.Context, ids []int64, jobs []outbox.JobRef) {
	s.outbox.Finish(ctx, s.Invalidate(ctx, ids...), jobs...)
}

// AfterCommitCounts is [Service.AfterCommit] for a change that moves no shop in any list: the
// lists stay. With each comment all of them would have to be read anew.
func (s *Service) AfterCommitCounts(ctx context.Context, ids []int64, jobs []outbox.JobRef) {
	s.outbox.Finish(ctx, outbox.Transient(s.shops.Invalidate(ctx, ids...)), jobs...)
}
