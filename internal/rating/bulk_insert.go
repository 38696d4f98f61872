package rating

import (
	"context"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

const bulkInsertTimeout = time.Minute // per call

// Seed is a rating to store with its user and time.
type Seed struct {
	Draft

	UserID    int64
	CreatedAt time.Time
}

// BulkInsert stores ratings, in order, and returns the number of new ones. It skips existing
// ratings, missing shops and owners of shops, so it is idempotent.
//
// It runs one transaction, with a statement per 500 ratings, and locks the shops until the
// end. Pass a few thousand ratings per call.
func (s *Service) BulkInsert(ctx context.Context, seeds []Seed) (added int, err error) {
	ctx, cancel := context.WithTimeout(ctx, bulkInsertTimeout)
	defer cancel()
	w := &work{}
	for _, d := range seeds {
		if err := d.check(); err != nil {
			return 0, fmt.Errorf("bulk insert rating of shop %d by user %d: %w", d.ShopID, d.UserID, err)
		}
		w.attempts = append(w.attempts, &attempt{Pair: Pair{d.ShopID, d.UserID}, want: d.by(d.UserID, d.CreatedAt), skip: true})
	}
	if err := s.tx(ctx, func(tx *ent.Tx) error { return s.write(ctx, tx, w) }); err != nil {
		return 0, fmt.Errorf("bulk insert %d ratings: %w", len(seeds), err)
	}
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer end()
	s.afterCommit(ctx, w)
	return len(w.changed), nil
}

// tx runs work in a transaction, and retries once if another one makes the database abort it.
func (s *Service) tx(ctx context.Context, work func(*ent.Tx) error) error {
	return ent.WithTxAgain(ctx, s.db, sqldb.Retryable, work)
}
