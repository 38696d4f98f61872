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

// within bounds what has to happen some time. Making a slot waits for every
// transaction on the server, those of other tests too.
const within = time.Minute

// A town is a database with a few tables.
type town struct {
	dsn   string
	db    *sql.DB
	locks *lock.Locker
}

func newTown(t testing.TB) town {
	t.Helper()
	// The tests' server acknowledges commits before they are in the log, where
	// they would be found up to 0.4 s later.
	return newTownAt(t, testkit.Postgres(t)+"&synchronous_commit=on")
}

func newTownAt(t testing.TB, dsn string) town {
	t.Helper()
	at := open(t, dsn)
	at.exec(t, `CREATE TABLE shops (name text, id bigint PRIMARY KEY);
		CREATE TABLE "Users" (id text PRIMARY KEY, name text);
		CREATE TABLE other (id bigint PRIMARY KEY, text text);
		CREATE TABLE outbox (id bigint PRIMARY KEY, done bool)`)
	return at
}

func open(t testing.TB, dsn string) town {
	t.Helper()
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return town{dsn, db, openLocks(t, db)}
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

func (at town) exec(t testing.TB, statement string, args ...any) {
	t.Helper()
	if _, err := at.db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// text is the one value that a query returns.
func (at town) text(t testing.TB, query string, args ...any) string {
	t.Helper()
	var s sql.NullString
	if err := at.db.QueryRowContext(t.Context(), query, args...).Scan(&s); err != nil && !errors.Is(err, sql.ErrNoRows) {
		t.Fatalf("%s: %v", query, err)
	}
	return s.String
}

// acknowledged is the position of the slot.
func (at town) acknowledged(t testing.TB) string {
	t.Helper()
	return at.text(t, "SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE database = current_database() AND NOT temporary")
}

// A listener writes down what it hears, in order: "shops:1,2", "missed",
// "truncated". It refuses while refuse says so.
type listener struct {
	mu     sync.Mutex
	heard  []string
	tries  int // of calls that can fail
	refuse func(what string) bool
}

var errRefused = errors.New("refused")

func (l *listener) hear(what string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tries++
	if l.refuse != nil && l.refuse(what) {
		return errRefused
	}
	l.heard = append(l.heard, what)
	return nil
}

func (l *listener) refusing(refuse func(string) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refuse = refuse
}

func (l *listener) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.heard)
}

func (l *listener) tried() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tries
}

// await waits until this was heard, and returns all that was, before and since.
func (l *listener) await(t testing.TB, what string) []string {
	t.Helper()
	l.awaitCount(t, what, 1)
	return l.all()
}

func (l *listener) awaitCount(t testing.TB, what string, n int) {
	t.Helper()
	deadline := time.Now().Add(within)
	for count(l.all(), what) < n {
		if time.Now().After(deadline) {
			t.Fatalf("did not hear %q %d times, but %q", what, n, l.all())
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

func (l *listener) table(name string) Table {
	return Table{Name: name, OnChange: func(_ context.Context, keys []string) error { return l.hear(name + ":" + join(keys)) }}
}

// join keeps long lists of keys short.
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

func (l *listener) options(at town) Options {
	return Options{
		URL:    at.dsn,
		Locks:  at.locks,
		Tables: []Table{l.table("shops"), l.table("Users")},
		Outbox: "outbox",
		OnGap:  func(context.Context) error { return l.hear("missed") },
	}
}

// A running Reader.
type running struct {
	*Reader
	stop func() // ends it, and waits for that; may be called twice
	done <-chan struct{}
	log  *testkit.Log
}

// run starts a Reader that is stopped when the test ends, unless it was before.
func (at town) run(t testing.TB, o Options, quick ...func(*intervals)) running {
	t.Helper()
	log := new(testkit.Log)
	o.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	r, err := New(at.db, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range quick {
		f(&r.pace)
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
			t.Logf("the reader said:\n%s", log)
		}
	})
	return running{Reader: r, stop: stop, done: done, log: log}
}

// awaitEnd waits until Run has returned by itself.
func (r running) awaitEnd(t testing.TB) {
	t.Helper()
	select {
	case <-r.done:
	case <-time.After(within):
		t.Fatal("it runs on")
	}
}

// runActive starts a Reader and waits until it reads.
func (at town) runActive(t testing.TB, o Options, quick ...func(*intervals)) running {
	t.Helper()
	r := at.run(t, o, quick...)
	testkit.Eventually(t, within, r.Active)
	return r
}
