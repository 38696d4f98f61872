package lock

import (
	"context"
	"database/sql"
	"database/sql/driver"
	_ "embed" // the statements
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/sqlfile"
)

var (
	//go:embed sql/try.postgres.sql
	tryText string
	//go:embed sql/wait.postgres.sql
	waitText string
	//go:embed sql/release.postgres.sql
	releaseText string

	trySQL     = sqlfile.Statement(tryText)
	waitSQL    = sqlfile.Statement(waitText)
	releaseSQL = sqlfile.Statement(releaseText)
)

// session is a connection that holds a lock, or asks for it. A statement that
// failed leaves nobody knowing what it holds: then it is discarded, and what it
// held is free.
type session struct {
	s    *sessions
	name string
	ttl  time.Duration
	life context.Context //nolint:containedctx // of the session: its statement is cut when it ends
	end  context.CancelFunc

	turn chan struct{} // full while a statement runs; guards what follows
	conn *sql.Conn
	over bool // conn was handed back or discarded

	fencing int64     // written before the session is granted
	valid   time.Time // likewise, and by extend
}

func newSession(s *sessions, conn *sql.Conn, name string, ttl time.Duration) *session {
	h := &session{s: s, name: name, ttl: ttl, conn: conn, turn: make(chan struct{}, 1)}
	h.life, h.end = context.WithCancel(context.Background())
	return h
}

// patience bounds a statement that waits for nothing.
func patience(ttl time.Duration) time.Duration { return min(ttl/2, 2*time.Second) }

// cancelGrace is what the server has to end a wait that it is asked to cancel,
// before the connection is closed without its word.
const cancelGrace = time.Second

func (h *session) token() int64     { return h.fencing }
func (h *session) until() time.Time { return h.valid }

// try asks for the lock, once.
func (h *session) try(ctx context.Context) (granted bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience(h.ttl))
	defer cancel()
	asked := time.Now()
	answer, err := h.ask(ctx, 0, trySQL, h.name, h.milliseconds())
	if err != nil {
		return false, err
	}
	if h.fencing, granted = answer.(int64); !granted {
		h.s.count.refusals.Add(1)
	}
	h.valid = asked.Add(h.ttl)
	return granted, nil
}

// wait waits for the lock after try was not granted it. Nobody knows how long
// ago the answer was given, so the session is asked once more.
func (h *session) wait(ctx context.Context) error {
	h.s.count.attempts.Add(1)
	answer, err := h.ask(ctx, cancelGrace, waitSQL, h.name, h.milliseconds())
	if err != nil {
		return err
	}
	h.fencing, _ = answer.(int64)
	ctx, cancel := context.WithTimeout(ctx, patience(h.ttl))
	defer cancel()
	return h.renew(ctx)
}

// renew asks the session anything, which it has to do within the lock's life.
func (h *session) renew(ctx context.Context) error {
	asked := time.Now()
	if _, err := h.ask(ctx, 0, "SELECT 1"); err != nil {
		return err
	}
	h.valid = asked.Add(h.ttl)
	return nil
}

// extend gives the work the time until the validity ends, and not only until ctx
// does, before it cuts the connection of a server that does not answer: the
// server may be there, and give the lock to another.
func (h *session) extend(ctx context.Context) (time.Time, error) {
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), h.valid)
	defer cancel()
	if err := h.renew(ctx); err != nil {
		h.discard()
		return time.Time{}, errGone
	}
	return h.valid, nil
}

func (h *session) release(ctx context.Context) error {
	if !h.s.tasks.enter() {
		h.discard()
		return ErrClosed
	}
	defer h.s.tasks.leave()
	ctx, cancel := context.WithTimeout(ctx, patience(h.ttl))
	defer cancel()
	answer, err := h.ask(ctx, 0, releaseSQL, h.name)
	if had, _ := answer.(bool); had && err == nil {
		h.handBack()
		return nil
	}
	h.discard()
	if err == nil || errors.Is(err, driver.ErrBadConn) {
		return errGone
	}
	return err
}

// lapse takes the lock from a holder that may still think to have it.
func (h *session) lapse() {
	if h.s.tasks.enter() {
		defer h.s.tasks.leave()
	}
	h.discard()
}

// discard ends the session, whatever it does or holds.
func (h *session) discard() {
	h.end()
	h.leave(func() {
		_ = h.conn.Raw(func(any) error { return driver.ErrBadConn }) // it says what it is told
	})
}

// handBack returns the connection, which holds nothing, to the pool.
func (h *session) handBack() {
	h.end()
	h.leave(func() { _ = h.conn.Close() }) // what is broken, the pool discards
}

// leave does what is done with the connection in the end, once.
func (h *session) leave(do func()) {
	h.turn <- struct{}{} // soon: what is under way was cut, if anything is
	defer func() { <-h.turn }()
	if !h.over {
		h.over = true
		do()
	}
}

// ask runs a statement that answers with one row, and returns its first column.
// When ctx ends its connection is cut; with a grace, the server is asked to
// cancel the statement first. The error is driver.ErrBadConn if the connection
// is broken, and errGone if it was left before.
func (h *session) ask(ctx context.Context, grace time.Duration, text string, args ...any) (answer any, err error) {
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if h.over {
		return nil, errGone
	}
	err = h.conn.Raw(func(conn any) error {
		c, ok := conn.(connection)
		if !ok {
			return fmt.Errorf("a connection of type %T cannot be asked", conn)
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(h.life, func() { cancel(errGone) })() //nolint:contextcheck // both may end it: the caller, and who discards the session
		running := ctx
		if grace == 0 {
			running = context.WithoutCancel(ctx)
		}
		stop := cutAfter(ctx, grace, c)
		answer, err = firstOf(running, c, text, args)
		if stop() {
			return context.Cause(ctx)
		}
		if err != nil && !c.IsValid() {
			return fmt.Errorf("%w: %w", driver.ErrBadConn, err)
		}
		return err
	})
	return answer, err
}

// connection is what a driver's connection has to be. That of lib/pq may be
// closed while a statement runs, which ends it.
type connection interface {
	driver.QueryerContext
	driver.Validator
	io.Closer
}

// firstOf runs a statement and returns the first column of the first row. The
// statement has been committed then.
func firstOf(ctx context.Context, c driver.QueryerContext, text string, args []any) (any, error) {
	named := make([]driver.NamedValue, len(args))
	for i, arg := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: arg}
	}
	rows, err := c.QueryContext(ctx, text, named)
	if err != nil {
		return nil, err
	}
	row := make([]driver.Value, len(rows.Columns()))
	err = rows.Next(row)
	if err = errors.Join(err, rows.Close()); err != nil {
		return nil, err
	}
	return row[0], nil
}

// cutAfter closes c when ctx ends, or a little later. stop ends that, when the
// statement did, and reports whether ctx ended before it.
func cutAfter(ctx context.Context, grace time.Duration, c io.Closer) (stop func() bool) {
	answered, cut := make(chan struct{}), make(chan struct{})
	disarm := context.AfterFunc(ctx, func() {
		defer close(cut)
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-answered:
		case <-timer.C:
		}
		_ = c.Close()
	})
	return func() bool {
		if disarm() {
			return false
		}
		close(answered)
		<-cut
		return true
	}
}

// milliseconds is the lock's life as Postgres takes it, which has less room for
// it than Go. It is no shorter than ours.
func (h *session) milliseconds() string {
	return strconv.FormatInt(min((h.ttl+time.Millisecond-1).Milliseconds(), math.MaxInt32), 10)
}
