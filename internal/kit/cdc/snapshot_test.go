package cdc

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/lib/pq"

	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestSnapshotShowsEarlierTransactions(t *testing.T) {
	now := time.Now()
	tests := []struct {
		name, snapshot string
		id             uint32
		age            time.Duration
		want           bool
	}{
		{name: "below all running ones", snapshot: "100:120:100,110", id: 99, want: true},
		{name: "the oldest running one", snapshot: "100:120:100,110", id: 100},
		{name: "between two running ones", snapshot: "100:120:100,110", id: 105, want: true},
		{name: "a running one", snapshot: "100:120:100,110", id: 110},
		{name: "the latest", snapshot: "100:120:100,110", id: 119, want: true},
		{name: "the next", snapshot: "100:120:100,110", id: 120},
		{name: "a later one", snapshot: "100:120:100,110", id: 121},
		{name: "none runs", snapshot: "120:120:", id: 119, want: true},
		{name: "the next when none runs", snapshot: "120:120:", id: 120},
		{name: "64 bits, same epoch", snapshot: "4294967396:4294967416:4294967396", id: 99, want: true},
		{name: "64 bits, a running one", snapshot: "4294967396:4294967416:4294967396", id: 100},
		{name: "before the wrap-around", snapshot: "4294967300:4294967300:", id: 4294967295, want: true},
		{name: "after the wrap-around", snapshot: "4294967290:4294967290:", id: 3},
		{name: "half the range before", snapshot: "2147483848:2147483848:", id: 200, want: true},
		{name: "more than half the range before", snapshot: "2147483849:2147483849:", id: 200},
		{name: "an expired snapshot", snapshot: "100:120:", id: 99, age: snapshotLife},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := parseSnapshot(tt.snapshot, now.Add(-tt.age))
			if err != nil {
				t.Fatal(err)
			}
			if got := s.shows(tt.id, now); got != tt.want {
				t.Errorf("shows(%d): got %v, want %v", tt.id, got, tt.want)
			}
		})
	}
	if new(snapshot).shows(3000000000, now) {
		t.Error("the zero snapshot shows a transaction")
	}
	for _, text := range []string{"", "1:2", "1:x:", "1:2:x", "1:2:-3"} {
		if _, err := parseSnapshot(text, now); err == nil {
			t.Errorf("no error for %q", text)
		}
	}
}

// counted returns the database with a pool that counts snapshot queries.
func (at database) counted(t *testing.T) (database, *atomic.Int64) {
	t.Helper()
	connector, err := pq.NewConnector(at.dsn)
	if err != nil {
		t.Fatal(err)
	}
	questions := new(atomic.Int64)
	db := sql.OpenDB(countingConnector{connector, questions})
	t.Cleanup(func() { _ = db.Close() })
	return database{dsn: at.dsn, db: db, locks: at.locks}, questions
}

type countingConnector struct {
	driver.Connector
	questions *atomic.Int64
}

func (c countingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	return countingConn{conn, c.questions}, err
}

type countingConn struct {
	driver.Conn
	questions *atomic.Int64
}

func (c countingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if strings.Contains(query, "pg_current_snapshot") {
		c.questions.Add(1)
	}
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

func (c countingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

func TestBurstNeedsOneSnapshot(t *testing.T) {
	t.Parallel()
	at, rec := newDatabase(t), new(recorder)
	counted, questions := at.counted(t)
	counted.runActive(t, rec.options(at)).stop()
	want := []string{"missed"}
	for i := range 50 {
		at.exec(t, `INSERT INTO shops (id) VALUES ($1)`, i)
		want = append(want, fmt.Sprintf("shops:%d", i))
	}
	counted.run(t, rec.options(at))
	if diff := cmp.Diff(want, rec.await(t, "shops:49")); diff != "" {
		t.Error(diff)
	}
	if n := questions.Load(); n != 1 {
		t.Errorf("got %d queries, want 1", n)
	}
}

func TestOwnTransactionsNeedNoSnapshot(t *testing.T) {
	t.Parallel()
	at, rec := newDatabase(t), new(recorder)
	counted, questions := at.counted(t)
	counted.runActive(t, rec.options(at), func(p *intervals) { p.beat = 20 * time.Millisecond })
	for i := range 50 {
		at.exec(t, `WITH job AS (INSERT INTO outbox VALUES ($1)) INSERT INTO shops (id) VALUES ($1)`, i)
	}
	at.exec(t, `DELETE FROM outbox`)
	at.awaitAcknowledged(t)
	if n := questions.Load(); n != 0 {
		t.Errorf("got %d queries, want none", n)
	}
	if diff := cmp.Diff([]string{"missed"}, rec.all()); diff != "" {
		t.Error(diff)
	}
}

// awaitAcknowledged waits until the slot has the current position of the log.
func (at database) awaitAcknowledged(t *testing.T) {
	t.Helper()
	now := at.text(t, `SELECT pg_current_wal_lsn()`)
	testkit.Eventually(t, within, func() bool {
		return at.text(t, `SELECT confirmed_flush_lsn >= $1::pg_lsn FROM pg_replication_slots WHERE database = current_database()`, now) == "true"
	})
}
