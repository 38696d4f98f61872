package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"entgo.io/ent/dialect"

	"github.com/tandian-dev/tandian/internal/testkit"
)

// stmtsOf returns the prepared statements of the pool's connection by text. The pool must have one
// connection.
func stmtsOf(t *testing.T, db *SQL) map[string]rawStmt {
	t.Helper()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	var found map[string]rawStmt
	err = conn.Raw(func(raw any) error {
		found = raw.(*preparingConn).stmts //nolint:forcetypeassert // the type of this package
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// numbers runs a statement that returns numbers.
func numbers(ctx context.Context, db Querier, statement string, args ...any) (all []int64, err error) {
	err = Each(ctx, db, statement, args, func(rows *sql.Rows) error {
		var n int64
		err := rows.Scan(&n)
		all = append(all, n)
		return err
	})
	return all, err
}

func TestStatementsArePreparedOncePerConnection(t *testing.T) {
	eachDialect(t, func(t *testing.T, db *SQL) {
		db.SetMaxOpenConns(1)
		mustExec(t, db, "CREATE TABLE things (n BIGINT PRIMARY KEY)", "INSERT INTO things VALUES (1), (2), (3)")
		const statement = "SELECT n FROM things WHERE n >= $1 ORDER BY n"
		if _, err := numbers(Prepared(t.Context()), db, statement, 1); err != nil {
			t.Fatal(err)
		}
		first := stmtsOf(t, db)[statement]
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				got, err := numbers(Prepared(t.Context()), db, statement, 2)
				if err != nil || !slices.Equal(got, []int64{2, 3}) {
					t.Errorf("%v, %v", got, err)
				}
			})
		}
		all.Wait()
		if _, err := numbers(t.Context(), db, "SELECT n FROM things"); err != nil {
			t.Error(err)
		}
		if now := stmtsOf(t, db); len(now) != 1 || first == nil || now[statement] != first {
			t.Errorf("got %d statements, want the first one only", len(now))
		}
	})
}

func TestPreparedStatementsAreBounded(t *testing.T) {
	eachDialect(t, func(t *testing.T, db *SQL) {
		db.SetMaxOpenConns(1)
		for i := range int64(maxPrepared + 10) {
			got, err := numbers(Prepared(t.Context()), db, "SELECT "+strconv.FormatInt(i, 10))
			if err != nil || !slices.Equal(got, []int64{i}) {
				t.Fatalf("%v, %v", got, err)
			}
		}
		if n := len(stmtsOf(t, db)); n != maxPrepared {
			t.Errorf("got %d prepared statements, want %d", n, maxPrepared)
		}
	})
}

func TestInvalidStatementsAreNotCached(t *testing.T) {
	eachDialect(t, func(t *testing.T, db *SQL) {
		if _, err := numbers(Prepared(t.Context()), db, "SELECT n FROM things WHERE n = $1", 1); err == nil {
			t.Fatal("got no error for a missing table")
		}
		mustExec(t, db, "CREATE TABLE things (n BIGINT PRIMARY KEY)", "INSERT INTO things VALUES (1)")
		if got, err := numbers(Prepared(t.Context()), db, "SELECT n FROM things WHERE n = $1", 1); err != nil || len(got) != 1 {
			t.Errorf("%v, %v", got, err)
		}
	})
}

// Prepared statements belong to connections, which end at a failover or at their maximum age.
func TestPreparedStatementsSurviveReconnects(t *testing.T) {
	url := testkit.Postgres(t)
	db := openSQL(t, SQLConfig{URL: url, MaxConns: 1})
	admin := openSQL(t, SQLConfig{URL: url})
	const statement = "SELECT $1::bigint"
	for i := range int64(3) {
		if i > 0 {
			mustExec(t, admin, "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
		}
		if got, err := numbers(Prepared(t.Context()), db, statement, i); err != nil || !slices.Equal(got, []int64{i}) {
			t.Fatalf("round %d: %v, %v", i, got, err)
		}
	}
	if n := len(stmtsOf(t, db)); n != 1 {
		t.Errorf("got %d prepared statements, want 1", n)
	}
}

func TestOutdatedStatementsArePreparedAgain(t *testing.T) {
	const statement = "SELECT n FROM things WHERE n = $1"
	for name, spoil := range map[string]string{
		"a migration changed its columns": "ALTER TABLE things ALTER n TYPE bigint",
		"deallocated by the server":       "DEALLOCATE ALL",
	} {
		t.Run(name, func(t *testing.T) {
			db := openSQL(t, SQLConfig{URL: testkit.Postgres(t), MaxConns: 1})
			mustExec(t, db, "CREATE TABLE things (n int PRIMARY KEY)", "INSERT INTO things VALUES (1)")
			for i := range 3 {
				got, err := numbers(Prepared(t.Context()), db, statement, 1)
				if err != nil || !slices.Equal(got, []int64{1}) {
					t.Fatalf("run %d: %v, %v", i, got, err)
				}
				if i == 0 {
					mustExec(t, db, spoil)
				}
			}
			if stmtsOf(t, db)[statement] == nil {
				t.Error("got no prepared statement")
			}
		})
	}
}

// An error aborts a transaction, so the statement cannot run again in it.
func TestOutdatedStatementAbortsItsTransaction(t *testing.T) {
	const statement = "SELECT n FROM things WHERE n = $1"
	db := openSQL(t, SQLConfig{URL: testkit.Postgres(t), MaxConns: 1})
	mustExec(t, db, "CREATE TABLE things (n int PRIMARY KEY)", "INSERT INTO things VALUES (1)")
	inTx := func() error {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := numbers(Prepared(t.Context()), tx, statement, 1)
		if err == nil && !slices.Equal(got, []int64{1}) {
			t.Errorf("got %v", got)
		}
		return errors.Join(err, tx.Rollback())
	}
	if err := inTx(); err != nil || stmtsOf(t, db)[statement] == nil {
		t.Fatalf("got %v, or no prepared statement", err)
	}
	mustExec(t, db, "ALTER TABLE things ALTER n TYPE bigint")
	if err := inTx(); !Retryable(err) {
		t.Errorf("got %v", err)
	}
	if err := inTx(); err != nil {
		t.Errorf("second try: %v", err)
	}
}

func TestPreparedStatementsChangeRows(t *testing.T) {
	eachDialect(t, func(t *testing.T, db *SQL) {
		db.SetMaxOpenConns(1)
		mustExec(t, db, "CREATE TABLE things (n BIGINT PRIMARY KEY, name TEXT)")
		const statement = "INSERT INTO things VALUES ($1, $2)"
		for i := range int64(3) {
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			done, err := tx.ExecContext(Prepared(t.Context()), statement, i, "tea")
			if err != nil {
				t.Fatal(err)
			}
			if n, err := done.RowsAffected(); n != 1 || err != nil {
				t.Errorf("changed %d rows, %v", n, err)
			}
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		got, err := numbers(t.Context(), db, "SELECT n FROM things WHERE name = $1 ORDER BY n", "tea")
		if err != nil || !slices.Equal(got, []int64{0, 1, 2}) || stmtsOf(t, db)[statement] == nil {
			t.Errorf("got %v, %v, or no prepared statement", got, err)
		}
	})
}

func TestPreparedStatementEndsWithItsContext(t *testing.T) {
	db := openSQL(t, SQLConfig{URL: testkit.Postgres(t), MaxConns: 1})
	const statement = "SELECT 1::bigint FROM pg_sleep($1)"
	for range 2 { // the first run prepares it
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		begin := time.Now()
		_, err := numbers(Prepared(ctx), db, statement, 60)
		cancel()
		if err == nil || time.Since(begin) > 10*time.Second {
			t.Fatalf("got %v after %v", err, time.Since(begin))
		}
		if got, err := numbers(Prepared(t.Context()), db, statement, 0); err != nil || len(got) != 1 {
			t.Fatalf("next statement: %v, %v", got, err)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := numbers(Prepared(cancelled), db, statement, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled caller: got %v", err)
	}
}

func TestIDQueryReturnsTheRowsOfItsIDs(t *testing.T) {
	eachDialect(t, func(t *testing.T, db *SQL) {
		db.SetMaxOpenConns(1)
		mustExec(t, db, "CREATE TABLE things (id BIGINT PRIMARY KEY)", "INSERT INTO things VALUES (-5), (0), (1), (2), (9223372036854775807)")
		l := NewIDQuery(db.Dialect, "SELECT id FROM things WHERE id = ANY($1)")
		for _, tt := range []struct{ ids, want []int64 }{
			{nil, nil},
			{[]int64{3}, nil},
			{[]int64{1}, []int64{1}},
			{[]int64{1, 3}, []int64{1}},
			{[]int64{2, 1, 2}, []int64{1, 2}},
			{[]int64{9223372036854775807, 0, -5}, []int64{-5, 0, 9223372036854775807}},
		} {
			var got []int64
			err := l.Each(t.Context(), db, tt.ids, func(rows *sql.Rows) error {
				var n int64
				err := rows.Scan(&n)
				got = append(got, n)
				return err
			})
			slices.Sort(got)
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("ids %v: got %v (%v), want %v", tt.ids, got, err, tt.want)
			}
		}
		if n := len(stmtsOf(t, db)); n != 2 {
			t.Errorf("got %d prepared statements, want 2: for one and for many", n)
		}
	})
}

func TestIDQueryLocksItsRowsOnPostgres(t *testing.T) {
	eachDialect(t, func(t *testing.T, db *SQL) {
		mustExec(t, db, "CREATE TABLE things (id BIGINT PRIMARY KEY)", "INSERT INTO things VALUES (1), (2), (3)")
		l := NewIDQuery(db.Dialect, "SELECT id FROM things WHERE id = ANY($1)\nORDER BY id\nFOR UPDATE\n")
		for _, ids := range [][]int64{{3}, {1, 2}} {
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Each(t.Context(), tx, ids, func(*sql.Rows) error { return nil }); err != nil {
				t.Fatal(err)
			}
			if db.Dialect == dialect.Postgres {
				free, err := numbers(t.Context(), db, "SELECT id FROM things WHERE id > $1 ORDER BY id FOR UPDATE SKIP LOCKED", 0)
				if want := slices.DeleteFunc([]int64{1, 2, 3}, func(id int64) bool { return slices.Contains(ids, id) }); err != nil || !slices.Equal(free, want) {
					t.Errorf("locked %v: got %v free (%v), want %v", ids, free, err, want)
				}
			}
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestNewIDQueryRequiresAnIDList(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a statement without a list: got no panic")
		}
	}()
	NewIDQuery(dialect.Postgres, "SELECT id FROM things WHERE id = $1")
}
