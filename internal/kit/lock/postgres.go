package lock

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"
)

// sessions are where locks are in Postgres: a session of the server, which is a
// connection of the pool, holds an advisory lock until it gives it up or ends.
type sessions struct {
	db    *sql.DB
	count *counts
	tasks tasks           // attempts, which may outlast their callers, and ends of sessions
	life  context.Context //nolint:containedctx // of the Locker: ends the waits for a connection
	end   context.CancelFunc
}

// NewPostgres returns a Locker on Postgres 14 or newer, by advisory locks of
// sessions. They do not meet the ones that package store takes.
//
// The pool is for locks alone. Each lock that is held takes one connection of it,
// and so does each name that is waited for in this process: its size bounds
// them, and whoever finds none waits for one until its context ends. Locks within
// locks need a pool that is never empty, or they may wait for each other. It is
// not closed. Its driver is lib/pq, with a connect_timeout: what a server that
// hangs does to a new connection lasts so long, though nobody waits for it.
//
// A lock ends when its session does. The server ends a session that asked nothing
// for the TTL, so the holder's machine may stop, or the network, and others wait
// for no longer than on Redis. A session that ends early, since the server
// restarts or somebody terminates it, is noticed within a third of the TTL: until
// then there may be two holders. A replica that is promoted knows nothing of the
// locks either. What must not be written by a holder of the past needs [Register].
//
// Behind PgBouncer in transaction mode there are no sessions, and this is no lock.
// Whoever waits has a transaction open: for so long VACUUM keeps what died
// meanwhile, and CREATE INDEX CONCURRENTLY waits, for ever if it is done by the
// lock's holder.
//
// AllNodes and Prefix have no meaning here. [Busy] does not say for how long.
func NewPostgres(db *sql.DB, o Options) (*Locker, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	s := &sessions{db: db, count: new(counts)}
	s.life, s.end = context.WithCancel(context.Background())
	return newLocker(s, o, s.count), nil
}

func (s *sessions) try(ctx context.Context, name string, ttl time.Duration) (grant, error) {
	g, err := s.attempt(ctx, func(ctx context.Context) (*session, error) {
		h, granted, err := s.begin(ctx, name, ttl)
		if err != nil || granted {
			return h, err
		}
		h.handBack()
		return nil, &Busy{Name: name}
	})
	if errors.Is(err, errWithin) {
		err = errNoAnswer
	}
	return g, err
}

func (s *sessions) wait(name string) waiting { return line{s, name} }

func (s *sessions) close(ctx context.Context) error {
	s.end()
	return s.tasks.close(ctx)
}

// line is where the one of this process whose turn it is waits for a name. The
// server keeps the order among processes and wakes the first.
type line struct {
	s    *sessions
	name string
}

func (w line) take(ctx context.Context, ttl time.Duration, _ *Busy) (grant, error) {
	return w.s.attempt(ctx, func(ctx context.Context) (*session, error) {
		h, granted, err := w.s.begin(ctx, w.name, ttl)
		if err != nil || granted {
			return h, err
		}
		if err := h.wait(ctx); err != nil {
			h.discard()
			return nil, fmt.Errorf("wait in Postgres: %w", err)
		}
		return h, nil
	})
}

func (line) close() {}

// attempt makes an attempt, which the caller leaves as soon as ctx ends, whatever
// the server does then. A lock that nobody is there to be given is discarded.
func (s *sessions) attempt(ctx context.Context, do func(context.Context) (*session, error)) (grant, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.life, func() { cancel(ErrClosed) })() //nolint:contextcheck // either may end it
	type outcome struct {
		h   *session
		err error
	}
	done := make(chan outcome) // without a buffer: what is sent has been received
	begun := s.tasks.run(func() {
		h, err := do(ctx)
		select {
		case done <- outcome{h, err}:
		case <-ctx.Done():
			if err == nil {
				h.discard()
			}
		}
	})
	if !begun {
		return nil, ErrClosed
	}
	select {
	case o := <-done:
		switch over := isOver(ctx); {
		case !over && o.err == nil:
			return o.h, nil
		case !over:
			return nil, o.err
		case o.err == nil:
			o.h.discard()
		}
	case <-ctx.Done():
	}
	return nil, context.Cause(ctx)
}

// isOver reports whether a context has ended, or its time has: a connection may
// notice that before the context does.
func isOver(ctx context.Context) bool {
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		<-ctx.Done()
	}
	return ctx.Err() != nil
}

// begin opens a session and tries to take the lock. Who is not granted it has the
// session all the same. A connection that broke while it was in the pool is no
// reason to fail: there are not more of them than were open.
func (s *sessions) begin(ctx context.Context, name string, ttl time.Duration) (h *session, granted bool, err error) {
	s.count.attempts.Add(1)
	for stale := s.db.Stats().OpenConnections; ; stale-- {
		conn, err := s.db.Conn(ctx)
		if err != nil {
			return nil, false, fmt.Errorf("connect to Postgres: %w", err)
		}
		h := newSession(s, conn, name, ttl)
		granted, err := h.try(ctx)
		if err == nil {
			return h, granted, nil
		}
		h.discard()
		if ctx.Err() != nil || stale <= 0 || !errors.Is(err, driver.ErrBadConn) {
			return nil, false, fmt.Errorf("ask Postgres: %w", err)
		}
	}
}
