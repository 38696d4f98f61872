package shop

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
)

// UpdateVouchers stores in tx until when vouchers of shops are on sale, after tx has changed
// some of them. It locks the shops. After the commit, pass the changed ids and the jobs to
// [Service.AfterCommit].
func (s *Service) UpdateVouchers(ctx context.Context, tx *ent.Tx, ids []int64) (changed []int64, jobs []outbox.JobRef, err error) {
	if err := s.sql.lockCounts.Each(ctx, tx, ids, func(*sql.Rows) error { return nil }); err != nil {
		return nil, nil, fmt.Errorf("lock %d shops: %w", len(ids), err)
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
