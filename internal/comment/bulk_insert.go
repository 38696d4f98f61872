package comment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/ent"
)

// bulkInsertTimeout bounds one call of Plant.
const bulkInsertTimeout = time.Minute

// A Seed is a comment of a demo town.
type Seed struct {
	Draft
	Author int64
	At     time.Time
}

// BulkInsert stores comments in one transaction, all or none of them, and returns their ids in
// the order of the drafts, which is the one in which they are listed: the oldest comes
// first. What they answer was stored by an earlier call. A draft that [Service.Add] would
// refuse is an error. Calling it again stores them again.
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
			return nil, fmt.Errorf("plant %d comments: %w", len(drafts), err)
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
		return nil, fmt.Errorf("plant %d comments: %w", len(drafts), err)
	}
	s.afterCommit(ctx, w)
	ids := make([]int64, len(w.rows))
	for i, row := range w.rows {
		ids[i] = row.ID
	}
	return ids, nil
}
