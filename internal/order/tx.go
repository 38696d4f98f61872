package order

import (
	"context"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// tx runs work in a transaction. It repeats the transaction once if the database aborts it in
// favour of another one: a commit of a sale and a cancellation can deadlock. So work must not
// depend on state of its first run.
func (s *Service) tx(ctx context.Context, work func(*ent.Tx) error) error {
	return ent.WithTxAgain(ctx, s.db, sqldb.Retryable, work)
}
