package account

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/ent"
	entsession "github.com/tandian-dev/tandian/ent/session"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
)

// Outbox topics of this package.
const (
	usersChanged  = "users"    // ids of inserted or changed users
	sessionsEnded = "sessions" // ids of ended sessions
)

const endBatch = 250 // sessions or devices per pipeline or statement

// openOutbox registers the handlers that repeat an unfinished invalidation.
func (s *Service) openOutbox() {
	s.outbox.Handle(usersChanged, outbox.Handler{Retention: outbox.ReplayRetention, Do: outbox.DoBatch(s.Invalidate), Collapse: s.hub.InvalidateAll})
	s.outbox.Handle(sessionsEnded, outbox.Handler{Retention: outbox.ReplayRetention, Do: outbox.DoBatch(s.sessions.propagateEnd)})
}

// Invalidate invalidates cached users in Redis and in all processes, after their rows
// were inserted, changed or deleted. It is idempotent.
func (s *Service) Invalidate(ctx context.Context, ids ...int64) error {
	return outbox.Transient(s.users.Invalidate(ctx, ids...)) // Redis is unavailable
}

// cacheRow caches a row that was just committed. If that fails, the outbox invalidates
// the user later: the write itself has succeeded.
func (s *Service) cacheRow(ctx context.Context, row *ent.User, job []outbox.JobRef) {
	_, err := s.users.Put(ctx, row.ID, *fromRow(row))
	s.outbox.Finish(ctx, err, job...)
}

// afterCommit is like cacheRow, but invalidates the users.
func (s *Service) afterCommit(ctx context.Context, job []outbox.JobRef, ids ...int64) {
	s.outbox.Finish(ctx, s.Invalidate(ctx, ids...), job...)
}

// InvalidateSessions invalidates the sessions among ids that have ended or have no row.
// It is idempotent.
func (s *Service) InvalidateSessions(ctx context.Context, ids ...string) error {
	live, err := s.db.Session.Query().Where(entsession.IDIn(ids...), entsession.EndedAtIsNil()).IDs(ctx)
	if err != nil {
		return fmt.Errorf("select %d sessions: %w", len(ids), err)
	}
	return s.sessions.propagateEnd(ctx, slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(live, id) })...)
}

// ErrNotInvalidated reports that Redis has all end marks, but an invalidation of sessions
// or [Config.OnSessionsEnded] failed.
var ErrNotInvalidated = errors.New("invalidate ended sessions in other processes")

// RepublishEnded stores the end marks in Redis again and invalidates the sessions in
// all processes. It covers the sessions that ended within about an hour, by their rows.
// Use it after Redis lost marks of an unknown age. An older session is rejected at its
// next use.
//
// It returns [ErrNotInvalidated] if only the invalidation failed. Then another process may
// serve an ended session from memory, for at most a second after its bus stops.
func (s *Service) RepublishEnded(ctx context.Context) error {
	var notInvalidated error
	for from := ""; ; {
		ids, err := s.db.Session.Query().Where(entsession.EndedAtNotNil(), entsession.IDGT(from)).Order(entsession.ByID()).Limit(endBatch).IDs(ctx)
		if err != nil {
			return fmt.Errorf("select ended sessions: %w", err)
		}
		if len(ids) == 0 {
			break
		}
		if err := s.sessions.markEnded(ctx, ids...); err != nil {
			return err
		}
		if err := s.sessions.invalidate(ctx, ids...); err != nil {
			notInvalidated = fmt.Errorf("%w: %w", ErrNotInvalidated, err)
		}
		from = ids[len(ids)-1]
	}
	return notInvalidated
}

// EndedSince returns the ids of the sessions that ended at or after a time, by their rows.
func (s *Service) EndedSince(ctx context.Context, at time.Time) ([]string, error) {
	ids, err := s.db.Session.Query().Where(entsession.EndedAtGTE(at.UTC())).IDs(ctx)
	if err != nil {
		return nil, fmt.Errorf("select ended sessions: %w", err)
	}
	return ids, nil
}

// propagateEnd stores end marks in Redis and drops the sessions from the memory of all
// processes.
func (s *sessions) propagateEnd(ctx context.Context, ids ...string) error {
	return outbox.Transient(errors.Join(s.markEnded(ctx, ids...), s.invalidate(ctx, ids...))) // Redis is unavailable
}

func (s *sessions) markEnded(ctx context.Context, ids ...string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	var failed error
	for part := range slices.Chunk(ids, endBatch) {
		err := s.markAll(ctx, part)
		if redis.HasErrorPrefix(err, "NOSCRIPT") { // a new or promoted server
			if err = s.mark.Load(ctx, s.rdb).Err(); err == nil {
				err = s.markAll(ctx, part)
			}
		}
		failed = errors.Join(failed, err)
	}
	if failed != nil {
		return fmt.Errorf("mark %d sessions as ended in Redis: %w", len(ids), failed)
	}
	return nil
}

func (s *sessions) invalidate(ctx context.Context, ids ...string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	err := s.memory.Invalidate(ctx, ids...)
	if s.ended != nil {
		err = errors.Join(err, s.ended(ctx, ids...))
	}
	return err
}

// markAll stores the end marks of some sessions in one round trip. It returns the first
// error; the other marks may be stored.
func (s *sessions) markAll(ctx context.Context, ids []string) error {
	_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, id := range ids {
			s.mark.EvalSha(ctx, p, []string{s.keys.session(id)}, endedLife.Milliseconds())
		}
		return nil
	})
	return err
}
