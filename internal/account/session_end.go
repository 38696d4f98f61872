package account

import (
	"context"
	"fmt"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/predicate"
	entsession "github.com/tandian-dev/tandian/ent/session"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
)

// end ends a session: first in its row, which decides, then in Redis. A client
// that hangs up does not stop it.
func (s *sessions) end(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	var job []outbox.JobRef
	err := ent.WithTx(ctx, s.db, func(tx *ent.Tx) (err error) {
		_, job, err = s.endAll(ctx, tx, entsession.ID(id))
		return err
	})
	if err != nil {
		return fmt.Errorf("end a session: %w", err)
	}
	s.afterCommit(ctx, job, id) // also if its row had ended: this process may not have heard yet
	return nil
}

// endAll notes that the sessions of these rows end with the transaction, as far
// as they run, and leaves them to the outbox.
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

// afterCommit tells of sessions that ended with a commit. What fails, or takes too
// long, is left to the outbox.
func (s *sessions) afterCommit(ctx context.Context, job []outbox.JobRef, ids ...string) {
	if len(ids) > 0 {
		s.outbox.Finish(ctx, s.propagateEnd(ctx, ids...), job...)
	}
}

// run purges until ctx ends.
// purge deletes the rows of sessions that ended, and of those that nobody used for
// 36 hours. A row may be behind by what lies between two refreshes; that of a
// session that ended stays for a while, for a Redis that forgot its end.
func (s *sessions) purge(ctx context.Context) error {
	for {
		over := entsession.Or(entsession.ExpiresAtLTE(s.now().Add(-rowEvery-touchEvery).UTC()), entsession.EndedAtLTE(s.now().Add(-endedRowLife).UTC()))
		ids, err := s.db.Session.Query().Where(over).Limit(endBatch).IDs(ctx)
		if err != nil || len(ids) == 0 {
			return err
		}
		// Again: somebody may just have used one.
		if _, err := s.db.Session.Delete().Where(entsession.IDIn(ids...), over).Exec(ctx); err != nil {
			return fmt.Errorf("delete %d sessions: %w", len(ids), err)
		}
		if len(ids) < endBatch {
			return nil
		}
	}
}
