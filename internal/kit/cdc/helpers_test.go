package cdc

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/lib/pq" // the driver "postgres"
	"go.uber.org/goleak"

	"github.com/tandian-dev/tandian/internal/kit/dblock"
	"github.com/tandian-dev/tandian/internal/kit/lock"
	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// within is the time limit for events. Creating a slot waits for every transaction on the
// server, also for those of other tests.
const within = time.Minute

// A database has a few tables.
type database struct {
	dsn   string
	db    *sql.DB
	locks *lock.Locker
}

func newDatabase(t testing.TB) database {
	t.Helper()
	// The test server acknowledges commits up to 0.4 s before they are in the log.
	return newDatabaseAt(t, testkit.Postgres(t)+"&synchronous_commit=on")
}

func newDatabaseAt(t testing.TB, dsn string) database {
	t.Helper()
	at := open(t, dsn)
	at.exec(t, `CREATE TABLE shops (name text, id bigint PRIMARY KEY);
		CREATE TABLE "Users" (id text PRIMARY KEY, name text);
		CREATE TABLE other (id bigint PRIMARY KEY, text text);
		CREATE TABLE outbox (id bigint PRIMARY KEY, done bool)`)
	return at
}

func open(t testing.TB, dsn string) database {
	t.Helper()
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return database{dsn, db, openLocks(t, db)}
}

func openLocks(t testing.TB, db *sql.DB) *lock.Locker {
	t.Helper()
	locks, err := dblock.NewPostgres(db, lock.Options{MaxHold: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := locks.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return locks
}

func (at database) exec(t testing.TB, statement string, args ...any) {
	t.Helper()
	if _, err := at.db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// text returns the only value of a query.
func (at database) text(t testing.TB, query string, args ...any) string {
	t.Helper()
	var s sql.NullString
	if err := at.db.QueryRowContext(t.Context(), query, args...).Scan(&s); err != nil && !errors.Is(err, sql.ErrNoRows) {
		t.Fatalf("%s: %v", query, err)
	}
	return s.String
}

// acknowledged returns the position of the slot.
func (at database) acknowledged(t testing.TB) string {
	t.Helper()
	return at.text(t, "SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE database = current_database() AND NOT temporary")
}

// A recorder records deliveries in order: "shops:1,2", "missed", "truncated". It returns
// an error if refuse returns true.
type recorder struct {
	mu         sync.Mutex
	deliveries []string
	tries      int // calls, also failed ones
	refuse     func(what string) bool
}

var errRefused = errors.New("refused")

func (l *recorder) record(what string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tries++
	if l.refuse != nil && l.refuse(what) {
		return errRefused
	}
	l.deliveries = append(l.deliveries, what)
	return nil
}

func (l *recorder) refusing(refuse func(string) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refuse = refuse
}

func (l *recorder) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.deliveries)
}

func (l *recorder) tried() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tries
}

// await waits for a delivery, and returns all so far.
func (l *recorder) await(t testing.TB, what string) []string {
	t.Helper()
	l.awaitCount(t, what, 1)
	return l.all()
}

func (l *recorder) awaitCount(t testing.TB, what string, n int) {
	t.Helper()
	deadline := time.Now().Add(within)
	for count(l.all(), what) < n {
		if time.Now().After(deadline) {
			t.Fatalf("got %[3]q, want %[2]d times %[1]q", what, n, l.all())
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func count(list []string, what string) (n int) {
	for _, s := range list {
		if s == what {
			n++
		}
	}
	return n
}

func (l *recorder) table(name string) Table {
	return Table{Name: name, OnChange: func(_ context.Context, keys []string) error { return l.record(name + ":" + join(keys)) }}
}

// join shortens long lists of keys.
func join(keys []string) string {
	var b strings.Builder
	for i, key := range keys {
		if i == 5 {
			b.WriteString(",…")
			break
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(key)
	}
	return b.String()
}

func (l *recorder) options(at database) Options {
	return Options{
		URL:    at.dsn,
		Locks:  at.locks,
		Tables: []Table{l.table("shops"), l.table("Users")},
		Outbox: "outbox",
		OnGap:  func(context.Context) error { return l.record("missed") },
	}
}

// running is a running Reader.
type running struct {
	*Reader
	stop func() // ends it and waits; may be called twice
	done <-chan struct{}
	log  *testkit.Log
}

// run starts a Reader and stops it at the end of the test.
func (at database) run(t testing.TB, o Options, quick ...func(*intervals)) running {
	t.Helper()
	log := new(testkit.Log)
	o.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	r, err := New(at.db, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range quick {
		f(&r.intervals)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := r.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	stop := func() { cancel(); <-done }
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			t.Logf("log of the reader:\n%s", log)
		}
	})
	return running{Reader: r, stop: stop, done: done, log: log}
}

// awaitEnd waits until Run returns without a stop.
func (r running) awaitEnd(t testing.TB) {
	t.Helper()
	select {
	case <-r.done:
	case <-time.After(within):
		t.Fatal("Run did not return")
	}
}

// runActive starts a Reader and waits until it reads.
func (at database) runActive(t testing.TB, o Options, quick ...func(*intervals)) running {
	t.Helper()
	r := at.run(t, o, quick...)
	testkit.Eventually(t, within, r.Active)
	return r
}
