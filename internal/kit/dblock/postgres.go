// Package dblock implements the locks of package lock for processes that share a database. It
// uses advisory locks of Postgres, which are strongly consistent, like ZooKeeper or etcd. For
// SQLite it has locks of a single process.
package dblock

import (
	"context"
	"database/sql"
	"database/sql/driver"
	_ "embed" // statements
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/lock"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

var (
	//go:embed sql/try.postgres.sql
	tryText string
	//go:embed sql/wait.postgres.sql
	waitText string
	//go:embed sql/release.postgres.sql
	releaseText string

	trySQL     = sqldb.Statement(tryText)
	waitSQL    = sqldb.Statement(waitText)
	releaseSQL = sqldb.Statement(releaseText)
)

// postgres holds locks in sessions: a session is one connection of the pool.
type postgres struct{ db *sql.DB }

// NewPostgres returns a Locker on advisory locks of Postgres 14 or newer, with the driver
// lib/pq. It does not close the pool. A lock has at most one holder while the holder's session
// lasts.
//
// A lock occupies a connection of the pool while a caller holds it or waits for it. Names are
// scoped to the current schema.
//
// The server ends a session that is silent for the TTL, so other callers get the lock of a
// failed machine. After a restart of the server or the end of its session, the holder detects
// the loss within a third of the TTL. Until then there may be two holders. A promoted replica
// has no locks. A pooler in transaction mode breaks the lock.
func NewPostgres(db *sql.DB, o lock.Options) (*lock.Locker, error) {
	return lock.New(postgres{db}, o)
}

func (s postgres) Try(ctx context.Context, r lock.Request) (lock.Grant, error) {
	h, taken, err := s.begin(ctx, r)
	if err != nil {
		return nil, err
	}
	if !taken {
		if err := h.returnToPool(ctx); err != nil {
			return nil, fmt.Errorf("query Postgres: %w", err)
		}
		return nil, &lock.BusyError{Name: r.Name}
	}
	return h, nil
}

// Acquire waits in the server, which wakes the first waiter.
func (s postgres) Acquire(ctx context.Context, r lock.Request) (lock.Grant, error) {
	h, taken, err := s.begin(ctx, r)
	if err == nil && !taken {
		err = h.wait(ctx)
	}
	if err != nil {
		return nil, err
	}
	return h, nil
}

// begin opens a session and tries to take the lock once. It replaces broken connections of the
// pool.
func (s postgres) begin(ctx context.Context, r lock.Request) (h *session, taken bool, err error) {
	for stale := s.db.Stats().OpenConnections; ; stale-- {
		conn, err := s.db.Conn(ctx)
		if err != nil {
			return nil, false, fmt.Errorf("connect to Postgres: %w", err)
		}
		h := &session{Request: r, conn: conn, busy: make(chan struct{}, 1)}
		err = conn.Raw(func(c any) error {
			h.driver, _ = c.(driver.Conn)
			return nil
		})
		if err == nil {
			taken, err = h.try(ctx)
		}
		if err == nil {
			return h, taken, nil
		}
		h.discard()
		if ctx.Err() != nil || stale <= 0 || !errors.Is(err, driver.ErrBadConn) {
			return nil, false, fmt.Errorf("query Postgres: %w", err)
		}
	}
}

// session is a connection that holds a lock or waits for one. After a failed statement its
// locks are unknown, so it is discarded and the server releases them.
type session struct {
	lock.Request
	driver driver.Conn // of conn; closing it ends a statement

	busy   chan struct{} // full while a statement runs; guards the rest
	conn   *sql.Conn
	closed bool // conn was returned or discarded

	valid time.Time // written before the grant, and by Extend
}

// patience bounds a statement that does not wait.
func patience(ttl time.Duration) time.Duration { return min(ttl/2, 2*time.Second) }

// cancelGrace is the time for the server to cancel a wait, before the connection closes.
const cancelGrace = time.Second

func (h *session) Until() time.Time { return h.valid }

func (h *session) try(ctx context.Context) (taken bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience(h.TTL))
	defer cancel()
	h.valid = time.Now().Add(h.TTL)
	taken, err = h.query(ctx, 0, trySQL, h.Name, h.milliseconds(), h.Shared)
	return taken, err
}

// wait waits for the lock. The age of the reply is unknown, so another statement starts the
// TTL.
func (h *session) wait(ctx context.Context) error {
	_, err := h.query(ctx, cancelGrace, waitSQL, h.Name, h.milliseconds(), h.Shared)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, patience(h.TTL))
		defer cancel()
		err = h.renew(ctx)
	}
	if err != nil {
		h.discard()
		return fmt.Errorf("wait in Postgres: %w", err)
	}
	return nil
}

// renew runs a statement, because the server ends idle sessions.
func (h *session) renew(ctx context.Context) error {
	began := time.Now()
	if _, err := h.query(ctx, 0, "SELECT true"); err != nil {
		return err
	}
	h.valid = began.Add(h.TTL)
	return nil
}

// Extend waits until the expiry, even if ctx ends, before it closes the connection: an earlier
// close would release the lock.
func (h *session) Extend(ctx context.Context) (time.Time, error) {
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), h.valid)
	defer cancel()
	if err := h.renew(ctx); err != nil {
		h.discard()
		return time.Time{}, lock.ErrGone
	}
	return h.valid, nil
}

func (h *session) Release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience(h.TTL))
	defer cancel()
	released, err := h.query(ctx, 0, releaseSQL, h.Name, h.Shared)
	switch {
	case released:
		return h.returnToPool(ctx)
	case err == nil, errors.Is(err, driver.ErrBadConn):
		err = lock.ErrGone
	}
	h.discard()
	return err
}

// Expire releases the lock of a holder that may not know of its loss.
func (h *session) Expire() { h.discard() }

// discard closes the connection, which ends its statement and releases its locks.
func (h *session) discard() {
	if h.driver != nil {
		_ = h.driver.Close()
	}
	h.close(func() { _ = h.conn.Raw(func(any) error { return driver.ErrBadConn }) })
}

// returnToPool returns a connection without locks to the pool. It first resets the settings of
// try.postgres.sql.
func (h *session) returnToPool(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience(h.TTL))
	defer cancel()
	if _, err := h.query(ctx, 0, "RESET ALL"); err != nil {
		h.discard()
		return err
	}
	h.close(func() { _ = h.conn.Close() })
	return nil
}

func (h *session) close(do func()) {
	h.busy <- struct{}{}
	defer func() { <-h.busy }()
	if !h.closed {
		h.closed = true
		do()
	}
}

// query runs a statement and returns the boolean of its row, if any. The end of ctx closes the
// connection; with a grace, the server may cancel the statement first. The error is
// driver.ErrBadConn for a broken connection, and lock.ErrGone for a closed session.
func (h *session) query(ctx context.Context, grace time.Duration, text string, args ...any) (answer bool, err error) {
	h.busy <- struct{}{}
	defer func() { <-h.busy }()
	if h.closed {
		return false, lock.ErrGone
	}
	running := ctx
	if grace == 0 {
		running = context.WithoutCancel(ctx)
	}
	cut := make(chan struct{})
	keep := context.AfterFunc(ctx, func() {
		time.AfterFunc(grace, func() { _ = h.driver.Close() })
		close(cut)
	})
	err = h.conn.QueryRowContext(running, text, args...).Scan(&answer)
	if !keep() { // the session is discarded, so the reply does not count
		<-cut
		return false, context.Cause(ctx)
	}
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return answer, err
}

// milliseconds returns the TTL for idle_session_timeout, rounded up.
func (h *session) milliseconds() string {
	return strconv.FormatInt(min((h.TTL+time.Millisecond-1).Milliseconds(), math.MaxInt32), 10)
}
