package account

import (
	"context"
	"fmt"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/predicate"
	entsession "github.com/tandian-dev/tandian/ent/session"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
)

// end ends a session: first in its row, which decides, then in Redis. The end of the
// request does not stop it.
func (s *sessions) end(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	var job []outbox.JobRef
	err := ent.WithTx(ctx, s.db, func(tx *ent.Tx) (err error) {
		_, job, err = s.endAll(ctx, tx, entsession.ID(id))
		return err
	})
	if err != nil {
		return fmt.Errorf("end session: %w", err)
	}
	s.afterCommit(ctx, job, id) // even if the row had ended: this process may not know yet
	return nil
}

func (s *sessions) endAll(ctx context.Context, tx *ent.Tx, which ...predicate.Session) (ids []string, job []outbox.JobRef, err error) {
	ids, err = tx.Session.Query().Where(append(which, entsession.EndedAtIsNil())...).IDs(ctx)
	if err != nil || len(ids) == 0 {
		return nil, nil, err
	}
	job, err = s.endThese(ctx, tx, ids)
	return ids, job, err
}

func (s *sessions) endThese(ctx context.Context, tx *ent.Tx, ids []string) ([]outbox.JobRef, error) {
	if err := tx.Session.Update().Where(entsession.IDIn(ids...)).SetEndedAt(s.now().UTC()).Exec(ctx); err != nil {
		return nil, fmt.Errorf("end %d sessions: %w", len(ids), err)
	}
	return outbox.AddBatch(ctx, s.outbox, tx, sessionsEnded, ids...)
}

// afterCommit propagates the end of sessions after the commit. If that fails or takes too
// long, the outbox repeats it.
func (s *sessions) afterCommit(ctx context.Context, job []outbox.JobRef, ids ...string) {
	if len(ids) > 0 {
		s.outbox.Finish(ctx, s.propagateEnd(ctx, ids...), job...)
	}
}

// purge deletes the rows of ended sessions after [endedRowLife], in case Redis loses the
// end, and the rows of expired sessions. The expiry in a row may lag by the refresh
// intervals.
func (s *sessions) purge(ctx context.Context) error {
	for {
		over := entsession.Or(entsession.ExpiresAtLTE(s.now().Add(-rowEvery-touchEvery).UTC()), entsession.EndedAtLTE(s.now().Add(-endedRowLife).UTC()))
		ids, err := s.db.Session.Query().Where(over).Limit(endBatch).IDs(ctx)
		if err != nil || len(ids) == 0 {
			return err
		}
		// Check again: a session may have been used meanwhile.
		if _, err := s.db.Session.Delete().Where(entsession.IDIn(ids...), over).Exec(ctx); err != nil {
			return fmt.Errorf("delete %d sessions: %w", len(ids), err)
		}
		if len(ids) < endBatch {
			return nil
		}
	}
}
