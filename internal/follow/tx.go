package follow

import (
	"context"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// tx runs work in a transaction, and again if the database rolled it back for another one. All
// writers lock in one order, users before the feed head, so that is rare. Work must not depend on
// state of an earlier attempt.
func (s *Service) tx(ctx context.Context, work func(*ent.Tx) error) error {
	return ent.WithTxAgain(ctx, s.db, sqldb.Retryable, work)
}
