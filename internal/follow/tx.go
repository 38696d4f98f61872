package follow

import (
	"context"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// tx runs work in a transaction, and once more if the database undid it for the sake of
// another one. Locks are taken in one order by everybody (users, then the head of the
// feed), so that is rare: somebody in psql, perhaps. Work begins from nothing that it
// left behind.
func (s *Service) tx(ctx context.Context, work func(*ent.Tx) error) error {
	return ent.WithTxAgain(ctx, s.db, sqldb.Retryable, work)
}
