package comment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/ent"
)

const bulkInsertTimeout = time.Minute // per call

// Seed is a comment of demo data.
type Seed struct {
	Draft
	Author int64
	At     time.Time
}

// BulkInsert stores comments in one transaction and returns their ids, in order. Sort the drafts by
// age, oldest first: lists use the order of ids. Parents must be stored by an earlier call. A draft
// that [Service.Add] would reject is an error, and nothing is stored. BulkInsert is not idempotent.
func (s *Service) BulkInsert(ctx context.Context, drafts []Seed) ([]int64, error) {
	if len(drafts) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, bulkInsertTimeout)
	defer cancel()
	all := make([]draft, len(drafts))
	for i, d := range drafts {
		content, err := clean(d.Content)
		if err != nil {
			return nil, fmt.Errorf("bulk insert %d comments: %w", len(drafts), err)
		}
		d.Content = content
		all[i] = draft{d.Draft, d.Author, d.At}
	}
	var w written
	err := ent.WithTx(ctx, s.db, func(tx *ent.Tx) error {
		err := s.store(ctx, tx, all, nil, &w)
		return cmp.Or(err, errors.Join(w.refused...))
	})
	if err != nil {
		return nil, fmt.Errorf("bulk insert %d comments: %w", len(drafts), err)
	}
	s.afterCommit(ctx, w)
	ids := make([]int64, len(w.rows))
	for i, row := range w.rows {
		ids[i] = row.ID
	}
	return ids, nil
}
