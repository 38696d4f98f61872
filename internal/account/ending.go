package account

import (
	"context"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/ent/predicate"
	entsession "github.com/tandian-dev/tandian/ent/session"
)

// endBatch is how many sessions are ended, told of or deleted in one go.
const endBatch = 500

// end ends the sessions that still run and fit: first in their rows, which
// decides, then in Redis.
func (s *sessions) end(ctx context.Context, which ...predicate.Session) error {
	which = append(which, entsession.EndedAtIsNil())
	for {
		ids, err := s.db.Session.Query().Where(which...).Limit(endBatch).IDs(ctx)
		if err != nil {
			return fmt.Errorf("select sessions to end: %w", err)
		}
		if len(ids) == 0 {
			return nil
		}
		err = s.db.Session.Update().Where(entsession.IDIn(ids...), entsession.EndedAtIsNil()).SetEndedAt(s.now().UTC()).Exec(ctx)
		if err != nil {
			return fmt.Errorf("end %d sessions: %w", len(ids), err)
		}
		s.tell(ctx, ids...)
		if len(ids) < endBatch {
			return nil
		}
	}
}

// tell puts the mark of the end into Redis. What fails is repeated by the
// workers, from the rows.
func (s *sessions) tell(ctx context.Context, ids ...string) {
	// The end stands in the rows already: a client that hung up does not stop this.
	ctx = context.WithoutCancel(ctx)
	for _, id := range ids {
		if err := s.tellOne(ctx, id); err != nil {
			s.redisFailed(ctx, "end", err)
			return
		}
	}
}

func (s *sessions) tellOne(ctx context.Context, id string) error {
	_, err := s.runScript(ctx, s.mark, id, endedLife.Milliseconds())
	return err
}

// run sweeps and purges until ctx ends.
func (s *sessions) run(ctx context.Context) error {
	var purged time.Time
	for {
		if err := s.sweep(ctx); err != nil && ctx.Err() == nil && s.complain.Due() {
			s.log.WarnContext(ctx, "sessions that ended are not swept", "err", err)
		}
		if time.Since(purged) >= purgeEvery {
			purged = time.Now()
			if err := s.purge(ctx); err != nil && ctx.Err() == nil {
				s.log.WarnContext(ctx, "sessions that are over are not deleted", "err", err)
			}
		}
		if !pause(ctx, sweepEvery) {
			return nil
		}
	}
}

// sweep tells Redis of every session that ended, whether it has heard of it or
// not, and deletes the rows. Several processes may do so at once.
func (s *sessions) sweep(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, workTimeout)
	defer cancel()
	for {
		ids, err := s.db.Session.Query().Where(entsession.EndedAtNotNil()).Limit(endBatch).IDs(ctx)
		if err != nil {
			return fmt.Errorf("select ended sessions: %w", err)
		}
		for _, id := range ids {
			if err := s.tellOne(ctx, id); err != nil {
				return fmt.Errorf("tell Redis of an ended session: %w", err)
			}
		}
		if len(ids) == 0 {
			return nil
		}
		if _, err := s.db.Session.Delete().Where(entsession.IDIn(ids...)).Exec(ctx); err != nil {
			return fmt.Errorf("delete %d ended sessions: %w", len(ids), err)
		}
		if len(ids) < endBatch {
			return nil
		}
	}
}

// purge deletes the rows of sessions that nobody used for 36 hours.
func (s *sessions) purge(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, workTimeout)
	defer cancel()
	for {
		over := entsession.ExpiresAtLTE(s.now().UTC())
		ids, err := s.db.Session.Query().Where(over).Limit(endBatch).IDs(ctx)
		if err != nil || len(ids) == 0 {
			return err
		}
		// Again: somebody on an instance with a slower clock may just have used one.
		if _, err := s.db.Session.Delete().Where(entsession.IDIn(ids...), over).Exec(ctx); err != nil {
			return fmt.Errorf("delete %d sessions: %w", len(ids), err)
		}
		if len(ids) < endBatch {
			return nil
		}
	}
}
