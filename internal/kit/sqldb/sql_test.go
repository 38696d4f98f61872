package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/testkit"
)

// eachDialect runs a test on an empty database of each dialect.
func eachDialect(t *testing.T, test func(*testing.T, *SQL)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, openSQL(t, SQLConfig{DataDir: t.TempDir()})) })
	t.Run("postgres", func(t *testing.T) { test(t, openSQL(t, SQLConfig{URL: testkit.Postgres(t)})) })
}

func openSQL(t *testing.T, cfg SQLConfig) *SQL {
	t.Helper()
	db, err := OpenSQL(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func TestSQLiteOpensAnyPathWithItsOptions(t *testing.T) {
	for _, name := range []string{"plain", "two words", "what?", "a#b", "100%", "a%20b", "a&b=c", "火锅", "x?_fk=0", "it's;"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), name)
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			db := openSQL(t, SQLConfig{DataDir: dir})
			first, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = first.Close() }()
			second, err := db.Conn(t.Context()) // every connection has the options, not only the first
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = second.Close() }()
			for pragma, want := range map[string]string{
				"journal_mode": "wal", "foreign_keys": "1", "busy_timeout": "10000", "synchronous": "1", "cache_size": "-32000",
			} {
				var got string
				if err := second.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
					t.Errorf("%s = %q (%v), want %q", pragma, got, err, want)
				}
			}
			if _, err := os.Stat(filepath.Join(dir, "tandian.db")); err != nil {
				t.Error(err)
			}
		})
	}
}

// Earlier versions created files of mode 0644.
func TestClosedSQLiteFileIsComplete(t *testing.T) {
	dir := t.TempDir()
	db, err := openSQLite(filepath.Join(dir, "a.db"))
	if err != nil {
		t.Fatal(err)
	}
	ctx := Prepared(t.Context())
	if _, err := db.ExecContext(ctx, "CREATE TABLE things (n INTEGER)"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(ctx, "INSERT INTO things VALUES (3)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "a.db-wal")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v for the WAL, want no file", err)
	}
	copied := filepath.Join(t.TempDir(), "b.db")
	if err := os.Rename(filepath.Join(dir, "a.db"), copied); err != nil {
		t.Fatal(err)
	}
	db, err = openSQLite(copied)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	var n int
	if err := db.QueryRowContext(t.Context(), "SELECT n FROM things").Scan(&n); err != nil || n != 3 {
		t.Errorf("got %d, %v from the moved file, want 3", n, err)
	}
}

func TestSQLiteFilesAreRestrictedToTheirOwner(t *testing.T) {
	for _, before := range []string{"a new file", "an older file"} {
		t.Run(before, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // readable by others
				t.Fatal(err)
			}
			if before == "an older file" {
				for _, name := range []string{"tandian.db", "tandian.db-wal", "tandian.db-shm"} {
					path := filepath.Join(dir, name)
					if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o644)); err != nil { //nolint:gosec // the mode of earlier versions
						t.Fatal(err)
					}
				}
			}
			db := openSQL(t, SQLConfig{DataDir: dir})
			if _, err := db.ExecContext(t.Context(), "CREATE TABLE t (n int)"); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"tandian.db", "tandian.db-wal", "tandian.db-shm"} {
				info, err := os.Stat(filepath.Join(dir, name))
				if err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%s: %v, %v", name, info, err)
				}
			}
		})
	}
}

// Only the owner of a file can change its mode. A file with the right mode needs no change.
func TestSQLiteFilesOfOthersKeepTheirMode(t *testing.T) {
	denied := func(string, os.FileMode) error { return fs.ErrPermission }
	path := filepath.Join(t.TempDir(), "tandian.db")
	if err := errors.Join(os.WriteFile(path, nil, 0o600), ownerOnly(path, denied)); err != nil {
		t.Errorf("mode 0600: %v", err)
	}
	if err := os.Chmod(path, 0o640); err != nil { //nolint:gosec // the mode under test
		t.Fatal(err)
	}
	if err := ownerOnly(path, denied); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "must belong to the user that runs the server") {
		t.Errorf("mode 0640: %v", err)
	}
}

// SQLite stores times as text: rows must still be sorted chronologically.
func TestTimesCompareChronologicallyInBothDialects(t *testing.T) {
	noon := time.Date(2026, 3, 29, 12, 0, 0, 0, time.UTC)
	east, west := time.FixedZone("", 9*3600), time.FixedZone("", -8*3600)
	now := time.Now() // has a reading of the monotonic clock
	want := []time.Time{
		noon.Add(-time.Hour).In(east), noon.In(west), noon.Add(time.Microsecond), noon.Add(100 * time.Millisecond).In(east),
		noon.Add(120 * time.Millisecond), noon.Add(time.Second).In(west), now, now.Add(time.Microsecond).In(west), now.Add(time.Hour).In(east),
	}
	eachDialect(t, func(t *testing.T, db *SQL) {
		mustExec(t, db, "CREATE TABLE times (n BIGINT, at "+map[string]string{dialect.SQLite: "DATETIME", dialect.Postgres: "TIMESTAMPTZ"}[db.Dialect]+")")
		for n, at := range want {
			if _, err := db.ExecContext(t.Context(), "INSERT INTO times VALUES ($1, $2)", n, at); err != nil {
				t.Fatal(err)
			}
		}
		for n, at := range want {
			var upTo int
			var back time.Time
			const query = "SELECT (SELECT count(*) FROM times WHERE at <= $1), at FROM times WHERE n = $2"
			if err := db.QueryRowContext(t.Context(), query, at.Round(0), n).Scan(&upTo, &back); err != nil {
				t.Fatal(err)
			}
			if upTo != n+1 || back.Sub(at).Abs() > time.Microsecond {
				t.Errorf("got %d rows up to %v (read as %v), want %d", upTo, at, back, n+1)
			}
		}
	})
}

func TestSQLiteTransactionsAreSerialized(t *testing.T) {
	db := openSQL(t, SQLConfig{DataDir: t.TempDir()})
	mustExec(t, db, "CREATE TABLE counters (n INTEGER)", "INSERT INTO counters VALUES (0)")
	const writers, rounds = 4, 25
	errs := make(chan error, writers)
	for range writers {
		go func() {
			for range rounds {
				if err := increment(t.Context(), db); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range writers {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	var n int
	if err := db.QueryRowContext(t.Context(), "SELECT n FROM counters").Scan(&n); err != nil || n != writers*rounds {
		t.Errorf("n = %d (%v), want %d", n, err, writers*rounds)
	}
}

func increment(ctx context.Context, db *SQL) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	var n int
	if err := tx.QueryRowContext(ctx, "SELECT n FROM counters").Scan(&n); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE counters SET n = ?", n+1); err != nil {
		return err
	}
	return tx.Commit()
}

func mustExec(t *testing.T, db *SQL, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStatementsAreCountedByVerb(t *testing.T) {
	type counts struct{ Statements, Errors float64 }
	verbs := []string{"select", "insert", "update", "delete", "other"}
	// Statements with rows use Query, others Exec.
	tests := []struct {
		name, statement string
		rows            bool
		want            map[string]counts
	}{
		{"a select", "SELECT n FROM things", true, map[string]counts{"select": {Statements: 1}}},
		{"a select over lines", "\n\tselect\n\tn\n\tFROM things", true, map[string]counts{"select": {Statements: 1}}},
		{"an insert", "INSERT INTO things VALUES (2)", false, map[string]counts{"insert": {Statements: 1}}},
		{"an insert with rows", "INSERT INTO things VALUES (2) RETURNING n", true, map[string]counts{"insert": {Statements: 1}}},
		{"an update", "UPDATE things SET n = 3", false, map[string]counts{"update": {Statements: 1}}},
		{"a delete", "DELETE FROM things", false, map[string]counts{"delete": {Statements: 1}}},
		{"something else", "WITH x AS (SELECT 1) SELECT * FROM x", true, map[string]counts{"other": {Statements: 1}}},
		{"a select that fails", "SELECT n FROM nothing", true, map[string]counts{"select": {1, 1}}},
		{"a failing insert", "INSERT INTO things VALUES (1)", false, map[string]counts{"insert": {1, 1}}},
		{"a failing insert with rows", "INSERT INTO things VALUES (1) RETURNING n", true, map[string]counts{"insert": {1, 1}}},
		{"no SQL", "selecting", false, map[string]counts{"other": {1, 1}}},
	}
	eachDialect(t, func(t *testing.T, db *SQL) {
		mustExec(t, db, "CREATE TABLE things (n BIGINT PRIMARY KEY)")
		for _, tt := range tests {
			for _, inTx := range []bool{false, true} {
				t.Run(tt.name+map[bool]string{true: " in a transaction"}[inTx], func(t *testing.T) {
					mustExec(t, db, "DELETE FROM things", "INSERT INTO things VALUES (1)")
					reg := prometheus.NewRegistry()
					driver := db.Driver(NewSQLMetrics(reg, nil))
					err := run(t.Context(), driver, inTx, tt.statement, tt.rows)
					got, fails := map[string]counts{}, false
					for _, v := range verbs {
						c := counts{
							testkit.MetricSum(t, reg, "tandian_sql_statement_seconds", map[string]string{"verb": v}),
							testkit.MetricSum(t, reg, "tandian_sql_errors_total", map[string]string{"verb": v}),
						}
						if c != (counts{}) { // all labels exist, at 0
							got[v] = c
						}
						fails = fails || tt.want[v].Errors > 0
					}
					if (err != nil) != fails {
						t.Fatalf("got %v", err)
					}
					if d := cmp.Diff(tt.want, got); d != "" {
						t.Errorf("(-want +got)\n%s", d)
					}
				})
			}
		}
	})
}

// run runs a statement on a driver like ent does.
func run(ctx context.Context, driver dialect.Driver, inTx bool, statement string, rows bool) (err error) {
	var on dialect.ExecQuerier = driver
	if inTx {
		tx, err := driver.Tx(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }()
		on = tx
	}
	if !rows {
		return on.Exec(ctx, statement, []any{}, nil)
	}
	var answer entsql.Rows
	if err := on.Query(ctx, statement, []any{}, &answer); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, answer.Close()) }()
	for answer.Next() {
		continue
	}
	return answer.Err()
}

func TestCancelledStatementsAreNotCountedAsErrors(t *testing.T) {
	eachDialect(t, func(t *testing.T, db *SQL) {
		reg := prometheus.NewRegistry()
		driver := db.Driver(NewSQLMetrics(reg, nil))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := run(ctx, driver, false, "SELECT 1", true); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		if n := testkit.MetricSum(t, reg, "tandian_sql_errors_total", nil); n != 0 {
			t.Errorf("got %v errors, want 0", n)
		}
	})
}

func TestBusyPoolKeepsItsConnections(t *testing.T) {
	eachDialect(t, func(t *testing.T, db *SQL) {
		for range 3 {
			var all []*sql.Conn
			for range db.Stats().MaxOpenConnections {
				conn, err := db.Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, conn)
			}
			for _, conn := range all {
				if err := conn.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if s := db.Stats(); s.MaxIdleClosed > 0 || s.OpenConnections != s.MaxOpenConnections {
			t.Errorf("got %d closed and %d of %d open connections", s.MaxIdleClosed, s.OpenConnections, s.MaxOpenConnections)
		}
	})
}

func TestPoolMetricsShowMaxConnections(t *testing.T) {
	tests := []struct {
		name     string
		maxConns int
		want     map[string]float64 // of each dialect
	}{
		{"by default", 0, map[string]float64{dialect.SQLite: 8, dialect.Postgres: 20}},
		{"as set", 3, map[string]float64{dialect.SQLite: 3, dialect.Postgres: 3}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			eachConfig(t, func(t *testing.T, cfg SQLConfig) {
				cfg.MaxConns = tt.maxConns
				db, reg := openSQL(t, cfg), prometheus.NewRegistry()
				NewSQLMetrics(reg, db.DB)
				conn, err := db.Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = conn.Close() }()
				for name, want := range map[string]float64{
					"tandian_go_sql_max_open_connections": tt.want[db.Dialect],
					"tandian_go_sql_in_use_connections":   1,
					"tandian_go_sql_wait_count_total":     0,
				} {
					if got := testkit.MetricSum(t, reg, name, map[string]string{"db_name": "main"}); got != want {
						t.Errorf("%s = %v, want %v", name, got, want)
					}
				}
			})
		})
	}
}

// eachConfig is [eachDialect] for tests that open the database themselves.
func eachConfig(t *testing.T, test func(*testing.T, SQLConfig)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, SQLConfig{DataDir: t.TempDir()}) })
	t.Run("postgres", func(t *testing.T) { test(t, SQLConfig{URL: testkit.Postgres(t)}) })
}

func TestDatabaseURLErrorsContainNoPassword(t *testing.T) {
	tests := []struct{ name, url, want string }{
		{"another scheme", "mysql://ann:hunter2@host/db", "must begin with postgres://"},
		{"an invalid port", "postgres://ann:hunter2@host:port/db", "must look like postgres://"},
		{"a password with a percent sign", "postgres://ann:hunter2%@host/db", "must look like postgres://"},
		{"a password with a slash", "postgres://ann:1/hunter2@host/db", "must look like postgres://"},
		{"a password with a question mark", "postgres://ann:1?hunter2@host/db", "must look like postgres://"},
		{"an invalid option", "postgres://ann:hunter2@host/db?sslmode=hunter2", "sslmode"},
		{"a password as an option", "postgres://host/db?password=hunter2&connect_timeout=soon", "connect_timeout"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			db, err := OpenSQL(SQLConfig{URL: tt.url})
			if err == nil {
				_ = db.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got %v, want an error with %q and without the password", err, tt.want)
			}
		})
	}
}

func TestAwaitReportsErrorsAndEndsWithItsContext(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts connections, but nothing answers
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	refusing, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = refusing.Close()
	for name, addr := range map[string]string{"it hangs": silent.Addr().String(), "it refuses": refusing.Addr().String()} {
		t.Run(name, func(t *testing.T) {
			// The driver dials without the context, so the URL sets its timeout.
			db := openSQL(t, SQLConfig{URL: "postgres://ann:hunter2@" + addr + "/db?sslmode=disable&connect_timeout=1"})
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			var reports []error
			begin := time.Now()
			err := db.Await(ctx, func(err error) { reports = append(reports, err) })
			if took := time.Since(begin); took > 4*time.Second {
				t.Errorf("took %v", took)
			}
			if err == nil || !strings.Contains(err.Error(), "Postgres "+addr+"/db does not respond") || len(reports) == 0 {
				t.Fatalf("got %v after %d reports", err, len(reports))
			}
			for _, err := range append(reports, err) {
				if strings.Contains(err.Error(), "hunter2") {
					t.Errorf("the error contains the password: %v", err)
				}
			}
		})
	}
	eachDialect(t, func(t *testing.T, db *SQL) {
		if err := db.Await(t.Context(), func(err error) { t.Errorf("got a retry: %v", err) }); err != nil {
			t.Error(err)
		}
	})
}
