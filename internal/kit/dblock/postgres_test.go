package dblock_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/lib/pq"
	"go.uber.org/goleak"

	"github.com/tandian-dev/tandian/internal/kit/dblock"
	"github.com/tandian-dev/tandian/internal/kit/lock"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/cachetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// soon is the timeout of fast operations on a busy machine.
const soon = 10 * time.Second

// pgServer is a database for one test.
type pgServer struct {
	dsn   string
	admin *sql.DB // reads the sessions of the others
}

// newPG creates a database.
func newPG(t *testing.T) pgServer {
	t.Helper()
	s := pgServer{dsn: testkit.Postgres(t)}
	s.admin = s.pool(t, s.dsn)
	s.admin.SetMaxOpenConns(1)
	return s
}

// pool opens a pool with settings, "key=value", added to a DSN.
func (pgServer) pool(t *testing.T, dsn string, settings ...string) *sql.DB {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("connect_timeout", "30")
	for i := 0; i < len(settings); i += 2 {
		q.Set(settings[i], settings[i+1])
	}
	u.RawQuery = q.Encode()
	connector, err := pq.NewConnector(u.String())
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// locker opens a Locker on its own pool, which it also returns.
func (s pgServer) locker(t *testing.T, o lock.Options) (*lock.Locker, *sql.DB) {
	t.Helper()
	db := s.pool(t, s.dsn)
	return pgLocker(t, db, o), db
}

func pgLocker(t *testing.T, db *sql.DB, o lock.Options) *lock.Locker {
	t.Helper()
	l, err := dblock.NewPostgres(db, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), soon)
		defer cancel()
		if err := l.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return l
}

// one reads one number.
func (s pgServer) one(t *testing.T, query string, args ...any) (n int) {
	t.Helper()
	if err := s.admin.QueryRowContext(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

const (
	pgHeld    = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
	pgWaiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event = 'advisory'"
	pgEnd     = "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
)

// awaits waits until n sessions wait for a lock.
func (s pgServer) awaits(t *testing.T, n int) {
	t.Helper()
	testkit.Eventually(t, soon, func() bool { return s.one(t, pgWaiting) == n })
}

// isFree waits until no session holds or waits for a lock.
func (s pgServer) isFree(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, soon, func() bool { return s.one(t, pgHeld)+s.one(t, pgWaiting) == 0 })
}

func pgTry(t *testing.T, l *lock.Locker, name string, o ...lock.Option) *lock.Lease {
	t.Helper()
	lease, err := l.Try(t.Context(), name, o...)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

func pgRelease(t *testing.T, lease *lock.Lease) {
	t.Helper()
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// endOf waits for the end of a lease's context and returns its cause.
func endOf(t *testing.T, lease *lock.Lease, within time.Duration) error {
	t.Helper()
	select {
	case <-lease.Context().Done():
		return context.Cause(lease.Context())
	case <-time.After(within):
		t.Fatalf("context did not end within %v", within)
		return nil
	}
}

// acquired is the result of a background Acquire.
type acquired struct {
	lease *lock.Lease
	err   error
	at    time.Time
}

func pgAcquire(ctx context.Context, l *lock.Locker, name string, o ...lock.Option) <-chan acquired {
	done := make(chan acquired, 1)
	go func() {
		lease, err := l.Acquire(ctx, name, o...)
		done <- acquired{lease, err, time.Now()}
	}()
	return done
}

func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case got := <-from:
		return got
	case <-time.After(2 * soon):
		t.Fatal("timeout")
		panic("unreachable")
	}
}

func TestPostgresHeldLockIsBusy(t *testing.T) {
	s := newPG(t)
	a, _ := s.locker(t, lock.Options{})
	b, db := s.locker(t, lock.Options{})
	held := pgTry(t, a, "x")
	for range 3 {
		_, err := b.Try(t.Context(), "x")
		if busy, ok := errors.AsType[*lock.BusyError](err); !ok || busy.Name != "x" {
			t.Fatalf("got %v, want busy", err)
		}
	}
	pgRelease(t, pgTry(t, b, "another name"))
	if n := db.Stats().OpenConnections; n != 1 {
		t.Errorf("got %d connections for sequential attempts, want 1", n)
	}
	pgRelease(t, held)
	pgRelease(t, pgTry(t, b, "x"))
	want := lock.Stats{Acquired: 2}
	if d := cmp.Diff(want, b.Stats()); d != "" {
		t.Errorf("counts (-want +got):\n%s", d)
	}
	s.isFree(t)
}

// pgSession is the server's view of a session.
type pgSession struct {
	PID   int
	Since time.Time // start of its latest statement
}

func (s pgServer) sessions(t *testing.T, where string) (all []pgSession) {
	t.Helper()
	rows, err := s.admin.QueryContext(t.Context(),
		"SELECT pid, query_start FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND "+where+" ORDER BY pid")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var one pgSession
		if err := rows.Scan(&one.PID, &one.Since); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestPostgresWakesFirstWaiterWithoutPolling(t *testing.T) {
	s := newPG(t)
	// Both timeouts would end a longer wait.
	settings := []string{"statement_timeout", "300", "lock_timeout", "300"}
	holder := pgLocker(t, s.pool(t, s.dsn, settings...), lock.Options{TTL: time.Second})
	held := pgTry(t, holder, "x")
	var waits []<-chan acquired
	for i := range 3 {
		l := pgLocker(t, s.pool(t, s.dsn, settings...), lock.Options{})
		waits = append(waits, pgAcquire(t.Context(), l, "x"))
		s.awaits(t, i+1)
	}

	const waiting, idle = "wait_event = 'advisory'", "state = 'idle'"
	before := s.sessions(t, waiting)
	for range 3 { // the holder renews, which waiters do not see
		renewed := s.sessions(t, idle)
		testkit.Eventually(t, soon, func() bool { return !slices.Equal(renewed, s.sessions(t, idle)) })
	}
	if d := cmp.Diff(before, s.sessions(t, waiting)); d != "" {
		t.Errorf("statements of waiters (-before +later):\n%s", d)
	}

	pgRelease(t, held)
	for i, wait := range waits {
		got := receive(t, wait)
		if got.err != nil {
			t.Fatalf("waiter %d: %v", i, got.err)
		}
		s.awaits(t, len(waits)-1-i)
		pgRelease(t, got.lease)
	}
	s.isFree(t)
}

func TestPostgresCancelledWaitLeavesNothing(t *testing.T) {
	s := newPG(t)
	seed := testkit.Seed(t)
	draw := rand.New(rand.NewPCG(seed, 0))
	o := lock.Options{TTL: time.Minute} // a leftover would not expire during the test
	holder, holders := s.locker(t, o)
	waiter, waiters := s.locker(t, o)
	granted, cancelled := 0, 0
	for range 150 {
		held := pgTry(t, holder, "x")
		ctx, cancel := context.WithCancelCause(t.Context())
		wait := pgAcquire(ctx, waiter, "x")
		s.awaits(t, 1)
		enough := errors.New("waited enough")
		early := time.Duration(draw.Int64N(int64(2*time.Millisecond))) - time.Millisecond/2
		var all sync.WaitGroup
		all.Go(func() { time.AfterFunc(early, func() { cancel(enough) }) })
		all.Go(func() { _ = held.Release(t.Context()) })
		got := receive(t, wait)
		all.Wait()
		switch {
		case got.err == nil:
			granted++
			pgRelease(t, got.lease)
		case errors.Is(got.err, enough):
			cancelled++
		default:
			t.Fatal(got.err)
		}
		cancel(nil)
		s.isFree(t)
	}
	t.Logf("%d granted, %d cancelled", granted, cancelled)
	testkit.Eventually(t, soon, func() bool { return holders.Stats().InUse+waiters.Stats().InUse == 0 })
}

func TestPostgresCancelledTryLeavesNothing(t *testing.T) {
	s := newPG(t)
	draw := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	a, db := s.locker(t, lock.Options{TTL: time.Minute})
	db.SetMaxIdleConns(4)
	usual := time.Millisecond
	granted := 0
	for i := range 1500 {
		ctx, cancel := context.WithCancel(t.Context())
		begin := time.Now()
		timer := time.AfterFunc(usual/2+time.Duration(draw.Int64N(int64(usual))), cancel)
		lease, err := a.Try(ctx, fmt.Sprint(i))
		switch {
		case err == nil:
			granted++
			usual = (9*usual + time.Since(begin)) / 10
			pgRelease(t, lease)
		case !errors.Is(err, context.Canceled):
			t.Fatal(err)
		default:
			usual += usual / 50
		}
		timer.Stop()
		cancel()
	}
	t.Logf("%d granted, the others cancelled after about %v", granted, usual)
	s.isFree(t)
	testkit.Eventually(t, soon, func() bool { return db.Stats().InUse == 0 })
}

func TestPostgresCallsEndWithTheirContext(t *testing.T) {
	s := newPG(t)
	a, _ := s.locker(t, lock.Options{})
	held := pgTry(t, a, "x")
	one := s.pool(t, s.dsn)
	one.SetMaxOpenConns(1)
	b := pgLocker(t, one, lock.Options{})
	other := pgTry(t, b, "y")
	tests := []struct {
		name   string
		before func() // frees the connection
		call   func(context.Context) error
		want   error
	}{
		{"try without a connection", func() {}, func(ctx context.Context) error { _, err := b.Try(ctx, "x"); return err }, context.DeadlineExceeded},
		{"acquire without a connection", func() {}, func(ctx context.Context) error { _, err := b.Acquire(ctx, "x"); return err }, context.DeadlineExceeded},
		{"acquire a lock that is held", func() { pgRelease(t, other) }, func(ctx context.Context) error { _, err := b.Acquire(ctx, "x"); return err }, context.DeadlineExceeded},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.before()
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			if err := tt.call(ctx); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
	// WithWait also ends a wait, with another error.
	_, err := b.Acquire(t.Context(), "x", lock.WithWait(2*time.Second))
	if _, ok := errors.AsType[*lock.BusyError](err); !ok {
		t.Errorf("got %v, want busy", err)
	}
	s.awaits(t, 0) // although the lock is still held
	pgRelease(t, held)
	s.isFree(t)
}

func TestPostgresLockExpires(t *testing.T) {
	tests := []struct {
		name    string
		options lock.Options
		given   []lock.Option
	}{
		{"maximum hold", lock.Options{TTL: time.Second, MaxHold: 1500 * time.Millisecond}, nil},
		{"TTL of the lock", lock.Options{}, []lock.Option{lock.WithTTL(1500 * time.Millisecond)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newPG(t)
			a, db := s.locker(t, tt.options)
			b, _ := s.locker(t, lock.Options{})
			held := pgTry(t, a, "x", tt.given...)
			wait := pgAcquire(t.Context(), b, "x")
			if err := endOf(t, held, soon); !errors.Is(err, lock.ErrMaxHold) {
				t.Errorf("got %v, want ErrMaxHold", err)
			}
			got := receive(t, wait)
			if got.err != nil {
				t.Fatal(got.err)
			}
			pgRelease(t, got.lease)
			testkit.Eventually(t, soon, func() bool { return db.Stats().OpenConnections == 0 }) // discarded
			if err := held.Release(t.Context()); !errors.Is(err, lock.ErrMaxHold) {
				t.Errorf("got %v, want ErrMaxHold", err)
			}
			s.isFree(t)
		})
	}
}

func TestPostgresHolderDetectsEndedSession(t *testing.T) {
	s := newPG(t)
	const ttl = 3 * time.Second
	a, _ := s.locker(t, lock.Options{TTL: ttl})
	held := pgTry(t, a, "x")
	begin := time.Now()
	if n := s.one(t, pgEnd); n != 1 {
		t.Fatalf("got %d sessions", n)
	}
	if err := endOf(t, held, soon); !errors.Is(err, lock.ErrLost) {
		t.Errorf("got %v, want ErrLost", err)
	}
	if took := time.Since(begin); took > ttl/3+time.Second {
		t.Errorf("detected after %v, want less than a third of the TTL %v", took, ttl)
	}
	for range 2 {
		if err := held.Release(t.Context()); !errors.Is(err, lock.ErrLost) {
			t.Errorf("got %v, want ErrLost", err)
		}
	}
	if d := cmp.Diff(lock.Stats{Acquired: 1, Lost: 1}, a.Stats()); d != "" {
		t.Errorf("counts (-want +got):\n%s", d)
	}
}

func TestPostgresReleaseOfEndedSessionFails(t *testing.T) {
	s := newPG(t)
	a, db := s.locker(t, lock.Options{TTL: time.Minute})
	held := pgTry(t, a, "x")
	s.one(t, pgEnd)
	for range 2 {
		if err := held.Release(t.Context()); !errors.Is(err, lock.ErrLost) {
			t.Errorf("got %v, want ErrLost", err)
		}
	}
	if d := cmp.Diff(lock.Stats{Acquired: 1, Lost: 1}, a.Stats()); d != "" {
		t.Errorf("counts (-want +got):\n%s", d)
	}
	if n := db.Stats().InUse; n != 0 {
		t.Errorf("got %d connections in use, want 0", n)
	}
}

func TestPostgresBrokenPoolConnectionsAreReplaced(t *testing.T) {
	s := newPG(t)
	a, db := s.locker(t, lock.Options{})
	db.SetMaxIdleConns(4)
	var held []*lock.Lease
	for i := range 4 {
		held = append(held, pgTry(t, a, fmt.Sprint(i)))
	}
	for _, lease := range held {
		pgRelease(t, lease)
	}
	if n := s.one(t, pgEnd); n != 4 {
		t.Fatalf("got %d sessions", n)
	}
	pgRelease(t, pgTry(t, a, "x"))
	s.isFree(t)
}

func TestPostgresConnectionIsResetAfterRelease(t *testing.T) {
	s := newPG(t)
	db := s.pool(t, s.dsn, "statement_timeout", "30s", "lock_timeout", "20s")
	a := pgLocker(t, db, lock.Options{})
	db.SetMaxOpenConns(1)
	pgRelease(t, pgTry(t, a, "x"))
	for name, want := range map[string]string{"idle_session_timeout": "0", "statement_timeout": "30s", "lock_timeout": "20s"} {
		var got string
		if err := db.QueryRowContext(t.Context(), "SHOW "+name).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// hanging opens a pool on a link that can stop carrying data.
func (s pgServer) hanging(t *testing.T) (*cachetest.Link, *sql.DB) {
	t.Helper()
	dir, err := os.MkdirTemp("", "pg") //nolint:usetesting // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	link, err := cachetest.NewLink(s.dsn, filepath.Join(dir, ".s.PGSQL.5432"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = link.Close() })
	u, err := url.Parse(s.dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = ""
	return link, s.pool(t, u.String(), "host", dir, "port", "5432", "sslmode", "disable")
}

func TestPostgresHangDelaysNoCaller(t *testing.T) {
	s := newPG(t)
	const ttl = 2 * time.Second
	link, db := s.hanging(t)
	a := pgLocker(t, db, lock.Options{TTL: ttl})
	direct, _ := s.locker(t, lock.Options{})
	held, released := pgTry(t, a, "x"), pgTry(t, a, "y")
	wait := pgAcquire(t.Context(), direct, "x")
	s.awaits(t, 1)
	link.Set(cachetest.HalfOpen)

	begin := time.Now()
	if err := released.Release(t.Context()); err == nil {
		t.Error("a hanging server released a lock")
	}
	if took := time.Since(begin); took > ttl/2+time.Second {
		t.Errorf("Release took %v, want at most %v", took, ttl/2+time.Second)
	}
	if err := endOf(t, held, soon); !errors.Is(err, lock.ErrLost) {
		t.Errorf("got %v, want ErrLost", err)
	}
	// The server has not received any of this, and gives the lock to others.
	got := receive(t, wait)
	if got.err != nil {
		t.Fatal(got.err)
	}
	if got.at.Before(held.Until()) {
		t.Errorf("next holder came %v before the expiry", held.Until().Sub(got.at))
	}
	pgRelease(t, got.lease)
	for name, call := range map[string]func(context.Context) error{
		"Try":     func(ctx context.Context) error { _, err := a.Try(ctx, "z"); return err },
		"Acquire": func(ctx context.Context) error { _, err := a.Acquire(ctx, "z"); return err },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		begin := time.Now()
		if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got %v, want the end of its context", name, err)
		}
		if took := time.Since(begin); took > soon/2 {
			t.Errorf("%s took %v, want at most %v", name, took, soon/2)
		}
		cancel()
	}
	begin = time.Now()
	_ = held.Release(t.Context())
	if took := time.Since(begin); took > soon/2 {
		t.Errorf("Release took %v, want at most %v", took, soon/2)
	}
	s.isFree(t)
	link.Set(cachetest.Cut) // lets Close return
}

func TestPostgresLostGrantIsReleased(t *testing.T) {
	tests := []struct {
		name  string
		after func(*cachetest.Link)
	}{
		{"network recovers", func(l *cachetest.Link) { l.Set(cachetest.Healthy) }},
		{"network stays down", func(*cachetest.Link) {}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newPG(t)
			link, db := s.hanging(t)
			a, _ := s.locker(t, lock.Options{})
			b := pgLocker(t, db, lock.Options{TTL: 2 * time.Second})
			held := pgTry(t, a, "x")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			wait := pgAcquire(ctx, b, "x")
			s.awaits(t, 1)
			link.Set(cachetest.HalfOpen)
			pgRelease(t, held)
			testkit.Eventually(t, soon, func() bool { return s.one(t, pgWaiting) == 0 && s.one(t, pgHeld) == 1 })
			cancel()
			if got := receive(t, wait); !errors.Is(got.err, context.Canceled) {
				t.Errorf("got %v, want the end of its context", got.err)
			}
			tt.after(link)
			s.isFree(t)
			link.Set(cachetest.Cut)
		})
	}
}
