package save

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

const (
	insertBatch       = 500         // saves per statement
	bulkInsertTimeout = time.Minute // per call
)

// Seed is a save to store.
type Seed struct {
	Target    int64
	User      int64
	CreatedAt time.Time
}

// BulkInsert stores saves, in order, and returns the number of new ones. It skips existing saves
// and missing targets, so it is idempotent.
//
// It runs one transaction, with a statement per 500 saves, and locks the targets until the end.
// Pass a few thousand saves per call.
func (s *Service) BulkInsert(ctx context.Context, seeds []Seed) (added int, err error) {
	ctx, cancel := context.WithTimeout(ctx, bulkInsertTimeout)
	defer cancel()
	rows, pairs := make([]row, len(seeds)), make([]pair, len(seeds))
	for i, d := range seeds {
		pairs[i] = pair{d.Target, d.User}
		rows[i] = row{pairs[i], d.CreatedAt.UnixMilli()}
	}
	var changed []pair
	var jobs []outbox.JobRef
	err = s.tx(ctx, func(tx *ent.Tx) error {
		changed, jobs = nil, nil
		saves, add, err := s.cfg.Target.LockSaves(ctx, tx, targetsOf(pairs))
		if err != nil {
			return fmt.Errorf("lock targets: %w", err)
		}
		existing := slices.DeleteFunc(slices.Clone(rows), func(r row) bool { _, exists := saves[r.Target]; return !exists })
		for part := range slices.Chunk(existing, insertBatch) {
			some, err := s.insert(ctx, tx, part)
			if err != nil {
				return err
			}
			changed = append(changed, some...)
		}
		if len(changed) > 0 {
			jobs, err = s.count(ctx, tx, changed, 1, saves, add)
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("bulk insert %d saves of %ss: %w", len(seeds), s.noun(), err)
	}
	if len(changed) > 0 {
		ctx, end := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
		defer end()
		s.committed(ctx, changed, jobs)
	}
	return len(changed), nil
}

// tx runs work in a transaction, and retries once if another one makes the database abort it.
func (s *Service) tx(ctx context.Context, work func(*ent.Tx) error) error {
	return ent.WithTxAgain(ctx, s.db, sqldb.Retryable, work)
}
