package follow

import (
	"context"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// tx runs work in a transaction, and retries once if the database aborts it because of another one.
// That is rare, because all writers lock users before the feed head. Work must not depend on state
// of an earlier attempt.
func (s *Service) tx(ctx context.Context, work func(*ent.Tx) error) error {
	return ent.WithTxAgain(ctx, s.db, sqldb.Retryable, work)
}
