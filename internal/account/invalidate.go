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

// The topics of this room's jobs in the outbox.
const (
	usersChanged  = "users"    // ids of users that were inserted or changed
	sessionsEnded = "sessions" // ids of sessions that ended
)

const endBatch = 250 // sessions that Redis is told of, or that are deleted, in one go

// openOutbox says what is done for a committed write when its writer could not.
func (s *Service) openOutbox() {
	s.outbox.Handle(usersChanged, outbox.Handler{Retention: outbox.ReplayRetention, Do: outbox.DoBatch(s.Invalidate), Collapse: s.hub.InvalidateAll})
	s.outbox.Handle(sessionsEnded, outbox.Handler{Retention: outbox.ReplayRetention, Do: outbox.DoBatch(s.sessions.propagateEnd)})
}

// Invalidate tells Redis and the other processes that rows of users were inserted,
// changed or deleted, by whomever. It may be repeated.
func (s *Service) Invalidate(ctx context.Context, ids ...int64) error {
	return outbox.Transient(s.users.Invalidate(ctx, ids...)) // Redis is away
}

// cacheRow replaces the cached row of a user that was just committed by that row.
// What cannot be told now is left to the outbox: nothing is wrong with the write.
func (s *Service) cacheRow(ctx context.Context, row *ent.User, job []outbox.JobRef) {
	_, err := s.users.Put(ctx, row.ID, *fromRow(row))
	s.outbox.Finish(ctx, err, job...)
}

// afterCommit is show for rows that are not at hand.
func (s *Service) afterCommit(ctx context.Context, job []outbox.JobRef, ids ...int64) {
	s.outbox.Finish(ctx, s.Invalidate(ctx, ids...), job...)
}

// InvalidateSessions tells Redis and the other processes of those of these sessions
// that are over: their rows say so, or are gone. It may be repeated.
func (s *Service) InvalidateSessions(ctx context.Context, ids ...string) error {
	live, err := s.db.Session.Query().Where(entsession.IDIn(ids...), entsession.EndedAtIsNil()).IDs(ctx)
	if err != nil {
		return fmt.Errorf("select %d sessions: %w", len(ids), err)
	}
	return s.sessions.propagateEnd(ctx, slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(live, id) })...)
}

// ErrNotInvalidated reports that Redis has all end marks, but the bus did not take
// all invalidations of sessions.
var ErrNotInvalidated = errors.New("invalidate ended sessions in other processes")

// RepublishEnded repeats the end marks in Redis and invalidates the sessions in all
// processes. It covers the sessions that ended within about an hour, by their rows.
// Use it for a Redis that lost marks of an unknown age. An older session is found to
// have ended at its next use.
//
// It returns [ErrNotInvalidated] if only the invalidation failed. Another process
// then serves a session from memory for at most a second after its bus stops.
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

// EndedSince returns the ids of sessions that ended at or after a time, by the rows.
func (s *Service) EndedSince(ctx context.Context, at time.Time) ([]string, error) {
	ids, err := s.db.Session.Query().Where(entsession.EndedAtGTE(at.UTC())).IDs(ctx)
	if err != nil {
		return nil, fmt.Errorf("select sessions that ended: %w", err)
	}
	return ids, nil
}

// propagateEnd puts the mark of the end into Redis, for sessions that ended in their
// rows, and has the processes forget what they hold of them.
func (s *sessions) propagateEnd(ctx context.Context, ids ...string) error {
	return outbox.Transient(errors.Join(s.markEnded(ctx, ids...), s.invalidate(ctx, ids...))) // Redis is away
}

// markEnded stores the end marks in Redis.
func (s *sessions) markEnded(ctx context.Context, ids ...string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	var failed error
	for part := range slices.Chunk(ids, endBatch) {
		err := s.markAll(ctx, part)
		if redis.HasErrorPrefix(err, "NOSCRIPT") { // a new server, or one that was promoted
			if err = s.mark.Load(ctx, s.rdb).Err(); err == nil {
				err = s.markAll(ctx, part)
			}
		}
		failed = errors.Join(failed, err)
	}
	if failed != nil {
		return fmt.Errorf("tell Redis of %d sessions that ended: %w", len(ids), failed)
	}
	return nil
}

// invalidate drops sessions from the memory of all processes.
func (s *sessions) invalidate(ctx context.Context, ids ...string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	err := s.memory.Invalidate(ctx, ids...)
	if s.ended != nil {
		err = errors.Join(err, s.ended(ctx, ids...))
	}
	return err
}

// markAll puts the marks of some sessions into Redis, in one round trip: they are
// told of by hundreds, and a network has its delay. With an error, that of the
// first, others may be there.
func (s *sessions) markAll(ctx context.Context, ids []string) error {
	_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, id := range ids {
			s.mark.EvalSha(ctx, p, []string{s.keys.session(id)}, endedLife.Milliseconds())
		}
		return nil
	})
	return err
}
