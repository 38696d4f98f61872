package dblock_test

import (
	"database/sql"
	"errors"
	"testing"

	"github.com/tandian-dev/tandian/internal/kit/dblock"
	"github.com/tandian-dev/tandian/internal/kit/lock"
	"github.com/tandian-dev/tandian/internal/testkit"
)

// The pool reuses the connections of a lock for other statements.
func TestConnectionsReturnWithTheirSettings(t *testing.T) {
	db, err := sql.Open("postgres", testkit.Postgres(t)+"&statement_timeout=54321&idle_session_timeout=65432")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	locks, err := dblock.NewPostgres(db, lock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = locks.Close(t.Context()) }()
	held, err := locks.Try(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	_, err = locks.Try(t.Context(), "x")
	if _, busy := errors.AsType[*lock.BusyError](err); !busy {
		t.Fatalf("second holder: got %v, want busy", err)
	}
	check := func(after string) {
		t.Helper()
		var statement, idle string
		if err := db.QueryRowContext(t.Context(), "SELECT current_setting('statement_timeout'), current_setting('idle_session_timeout')").Scan(&statement, &idle); err != nil {
			t.Fatal(err)
		}
		if statement != "54321ms" || idle != "65432ms" {
			t.Errorf("after %s: got statement_timeout %s, idle_session_timeout %s", after, statement, idle)
		}
	}
	check("a busy lock")
	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("a release")
	if n := db.Stats().OpenConnections; n != 2 {
		t.Errorf("got %d open connections, want 2", n)
	}
}
