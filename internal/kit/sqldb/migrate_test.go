package sqldb

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/testkit"
)

// migrations returns two steps for both dialects. The first fails if it runs twice; the second
// would then add a second row.
func migrations() fstest.MapFS {
	return fstest.MapFS{
		"20260101000000_things.sql": {Data: []byte("-- +goose Up\nCREATE TABLE things (n BIGINT);\n")},
		"20260102000000_first.sql":  {Data: []byte("-- +goose Up\nINSERT INTO things VALUES (1);\n")},
	}
}

// A step is a migration without its time.
type step struct {
	Version int64
	Name    string
	Applied bool
}

func steps(list []Migration) []step {
	var out []step
	for _, m := range list {
		out = append(out, step{m.Version, m.Name, !m.Applied.IsZero()})
	}
	return out
}

func TestMigrateAppliesAndReturnsPendingMigrations(t *testing.T) {
	things := step{20260101000000, "20260101000000_things.sql", true}
	first := step{20260102000000, "20260102000000_first.sql", true}
	pending := func(s step) step { s.Applied = false; return s }
	eachDialect(t, func(t *testing.T, db *SQL) {
		all := migrations()
		old := fstest.MapFS{things.Name: all[things.Name]}
		check := func(when string, want []step, list func(context.Context) ([]Migration, error)) {
			t.Helper()
			got, err := list(t.Context())
			if err != nil {
				t.Fatalf("%s: %v", when, err)
			}
			if d := cmp.Diff(want, steps(got)); d != "" {
				t.Errorf("%s (-want +got)\n%s", when, d)
			}
		}
		status := func(ctx context.Context) ([]Migration, error) { return db.Migrations(ctx, all) }
		check("status of an empty database", []step{pending(things), pending(first)}, status)
		check("migrate an older version", []step{things}, func(ctx context.Context) ([]Migration, error) { return db.Migrate(ctx, old) })
		check("status in between", []step{things, pending(first)}, status)
		check("migrate", []step{first}, func(ctx context.Context) ([]Migration, error) { return db.Migrate(ctx, all) })
		check("migrate again", nil, func(ctx context.Context) ([]Migration, error) { return db.Migrate(ctx, all) })
		check("status at the end", []step{things, first}, status)
	})
}

// During a rolling upgrade, an older instance may restart and find unknown migrations. Migrations
// only add, so it starts.
func TestOlderProgramAcceptsNewerDatabase(t *testing.T) {
	eachDialect(t, func(t *testing.T, db *SQL) {
		known, newer := migrations(), migrations()
		newer["20260103000000_later.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\nALTER TABLE things ADD COLUMN later BIGINT;\n")}
		if _, err := db.Migrate(t.Context(), newer); err != nil {
			t.Fatal(err)
		}
		if applied, err := db.Migrate(t.Context(), known); err != nil || len(applied) > 0 {
			t.Errorf("older program: got applied %v, %v, want none", applied, err)
		}
		if list, err := db.Migrations(t.Context(), known); err != nil || len(list) != len(known) {
			t.Errorf("older program: got list %v, %v, want its own migrations", list, err)
		}
		if n := countThings(t, db); n != 1 {
			t.Errorf("got %d rows", n)
		}
	})
}

func TestFailedMigrationIsNamedAndRolledBack(t *testing.T) {
	eachDialect(t, func(t *testing.T, db *SQL) {
		files := migrations()
		files["20260103000000_wrong.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\nINSERT INTO things VALUES (2);\nINSERT INTO absent VALUES (1);\n")}
		_, err := db.Migrate(t.Context(), files)
		if err == nil || !strings.Contains(err.Error(), "20260103000000") || !strings.Contains(err.Error(), db.Name) {
			t.Errorf("got %v, want an error that names the version and the database", err)
		}
		if n := countThings(t, db); n != 1 {
			t.Errorf("got %d rows, want only that of the valid migration", n)
		}
		if _, err := db.Migrate(t.Context(), fstest.MapFS{}); err == nil || !strings.Contains(err.Error(), "read migrations for "+db.Dialect) {
			t.Errorf("no files: got %v", err)
		}
	})
}

func countThings(t *testing.T, db *SQL) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM things").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestConcurrentMigrationsApplyOnce(t *testing.T) {
	const processes = 8
	dsn := testkit.Postgres(t)
	files := migrations()
	// The statement takes long enough for all others to arrive: without a lock, most fail to create
	// the version table and retry after a second.
	files["20260101120000_slow.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\nSELECT pg_sleep(1.5);\n")}
	var all sync.WaitGroup
	start := make(chan struct{})
	applied := make([][]Migration, processes)
	for i := range processes {
		db := openSQL(t, SQLConfig{URL: dsn, MaxConns: 2}) // separate pools: only the database is shared
		if err := db.PingContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			<-start
			var err error
			if applied[i], err = db.Migrate(t.Context(), files); err != nil {
				t.Errorf("process %d: %v", i, err)
			}
		})
	}
	begin := time.Now()
	close(start)
	all.Wait()
	t.Logf("%d processes took %v", processes, time.Since(begin))

	times := map[string]int{}
	for _, list := range applied {
		for _, m := range list {
			times[m.Name]++
		}
	}
	want := map[string]int{"20260101000000_things.sql": 1, "20260101120000_slow.sql": 1, "20260102000000_first.sql": 1}
	if d := cmp.Diff(want, times); d != "" {
		t.Errorf("applied migrations (-want +got)\n%s", d)
	}
	if n := countThings(t, openSQL(t, SQLConfig{URL: dsn})); n != 1 {
		t.Errorf("got %d rows, want 1", n)
	}
}
