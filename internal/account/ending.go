package account

import (
	"cmp"
	"context"
	"fmt"
	"time"

	entsession "github.com/tandian-dev/tandian/ent/session"
	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// endBatch is how many sessions are ended, told of or deleted in one go.
const endBatch = 500

// end ends a session: first in its row, which decides, then in Redis. A client
// that hangs up does not stop it.
func (s *sessions) end(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	err := s.db.Session.Update().Where(entsession.ID(id), entsession.EndedAtIsNil()).SetEndedAt(s.now().UTC()).Exec(ctx)
	if err != nil {
		return fmt.Errorf("end a session: %w", err)
	}
	s.tell(ctx, id)
	return nil
}

// tell puts the mark of the end into Redis, for sessions that ended in their
// rows. What fails, or takes too long, is left to the workers.
func (s *sessions) tell(ctx context.Context, ids ...string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellTimeout)
	defer cancel()
	for _, id := range ids {
		if err := s.tellOne(ctx, id); err != nil {
			s.failures.note(ctx, "end", err) // the next one may lie on another node
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
	for from := ""; ctx.Err() == nil; {
		var err error
		if from, err = s.sweep(ctx, from); err != nil && ctx.Err() == nil {
			s.failures.note(ctx, "sweep", err)
		}
		if time.Since(purged) >= purgeEvery {
			purged = time.Now()
			if err := s.purge(ctx); err != nil && ctx.Err() == nil {
				s.failures.note(ctx, "purge", err)
			}
		}
		_ = clock.Sleep(ctx, sweepEvery) // the loop sees that ctx ended
	}
	return nil
}

// sweep tells Redis of every session that ended, whether it has heard of it or
// not, and deletes the rows of those of which it could be told. It begins after
// the id from, and returns where the next sweep begins: sessions on a node that
// is away do not hold up the others. Several processes may do so at once.
func (s *sessions) sweep(ctx context.Context, from string) (next string, err error) {
	ctx, cancel := context.WithTimeout(ctx, workTimeout)
	defer cancel()
	var failed error
	for {
		ids, err := s.db.Session.Query().Where(entsession.EndedAtNotNil(), entsession.IDGT(from)).Order(entsession.ByID()).Limit(endBatch).IDs(ctx)
		if err != nil {
			return from, fmt.Errorf("select ended sessions: %w", err)
		}
		if len(ids) == 0 {
			return "", failed
		}
		told := make([]string, 0, len(ids))
		for _, id := range ids {
			if err := s.tellOne(ctx, id); err != nil {
				failed = cmp.Or(failed, fmt.Errorf("tell Redis of an ended session: %w", err))
			} else {
				told = append(told, id)
			}
			if ctx.Err() != nil {
				return id, failed
			}
		}
		if _, err := s.db.Session.Delete().Where(entsession.IDIn(told...)).Exec(ctx); err != nil {
			return from, fmt.Errorf("delete %d ended sessions: %w", len(told), err)
		}
		from = ids[len(ids)-1]
	}
}

// purge deletes the rows of sessions that nobody used for 36 hours. A row may
// be behind by what lies between two refreshes.
func (s *sessions) purge(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, workTimeout)
	defer cancel()
	for {
		over := entsession.ExpiresAtLTE(s.now().Add(-rowEvery - touchEvery).UTC())
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
