package flashsale

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/lock"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// A database that does not answer delays a comparison for a bounded time.
func TestLockAttemptTimesOut(t *testing.T) {
	t.Parallel()
	g := newStage(t, storetest.Real(t))
	g.SQL.SetMaxOpenConns(1)
	conn, err := g.SQL.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*lockTimeout)
	defer cancel()
	begin := time.Now()
	done, err := g.tryLocked(ctx, "sale.test", func(context.Context) error {
		t.Error("do ran without the lock")
		return nil
	})
	if done || !errors.Is(err, lock.ErrNoAnswer) {
		t.Errorf("got %v, %v, want %v", done, err, lock.ErrNoAnswer)
	}
	if took := time.Since(begin); took < lockTimeout || ctx.Err() != nil {
		t.Errorf("took %v, want at least %v within the context", took, lockTimeout)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the name is free again, and do has no timeout
		if done, err := g.tryLocked(ctx, "sale.test", func(ctx context.Context) error { return ctx.Err() }); !done || err != nil {
			t.Errorf("got %v, %v, want done", done, err)
		}
	}
}

// The session of the lock ends, as after a restart of the database.
func TestWorkEndsWithItsLock(t *testing.T) {
	t.Parallel()
	on := storetest.Real(t)
	holder, other := newStage(t, on), newStage(t, on)
	const end = `SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_locks
		WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
	done, err := holder.tryLocked(t.Context(), "sale.test", func(ctx context.Context) error {
		if done, err := other.tryLocked(ctx, "sale.test", func(context.Context) error { return nil }); done || err != nil {
			t.Errorf("another process in parallel: got %v, %v", done, err)
		}
		var ended int
		if err := other.SQL.QueryRowContext(context.WithoutCancel(ctx), end).Scan(&ended); err != nil || ended != 1 {
			t.Errorf("ended %d sessions, %v, want 1", ended, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Minute):
			return errors.New("the work continued without its lock")
		}
	})
	if !done || !errors.Is(err, context.Canceled) || !errors.Is(err, lock.ErrLost) {
		t.Errorf("got %v, %v, want done and %v", done, err, lock.ErrLost)
	}
	if done, err := other.tryLocked(t.Context(), "sale.test", func(context.Context) error { return nil }); !done || err != nil {
		t.Errorf("another process later: got %v, %v", done, err)
	}
}

func TestProcessesTakeTurns(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		t.Parallel()
		first := newStage(t, on)
		second := first
		if first.Dialect == "postgres" {
			second = newStage(t, on)
		}
		began, ended := make(chan struct{}), make(chan error, 1)
		var order []string // under the lock
		go func() {
			ended <- first.locked(t.Context(), "sale.test", func(ctx context.Context) error {
				close(began)
				time.Sleep(100 * time.Millisecond) // gives the second time to wait
				order = append(order, "first")
				return ctx.Err()
			})
		}()
		<-began
		err := second.locked(t.Context(), "sale.test", func(ctx context.Context) error {
			order = append(order, "second")
			return ctx.Err()
		})
		if err := errors.Join(err, <-ended); err != nil {
			t.Fatal(err)
		}
		if len(order) != 2 || order[0] != "first" {
			t.Errorf("got order %v, want first, then second", order)
		}
		waiting, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		err = first.locked(t.Context(), "sale.test", func(context.Context) error {
			return second.locked(waiting, "sale.test", func(context.Context) error { return nil })
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ended wait: got %v", err)
		}
	})
}
