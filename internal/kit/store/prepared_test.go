package store

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
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/kit/sqlfile"
	"github.com/tandian-dev/tandian/internal/testkit"
)

// hot is a pool as rooms have it, and what it keeps prepared.
type hot struct {
	sqlfile.Querier
	kept *prepared
}

func openHot(t *testing.T, db *SQL) hot {
	t.Helper()
	d, ok := db.Driver(NewSQLMetrics(prometheus.NewRegistry(), nil)).(*driver)
	if !ok {
		t.Fatal("the driver is another one")
	}
	pool, ok := d.ExecQuerier.(observed)
	if !ok {
		t.Fatal("the pool is not observed")
	}
	return hot{pool, pool.prepared}
}

// numbers runs a statement that answers with numbers.
func numbers(ctx context.Context, db sqlfile.Querier, statement string, args ...any) (all []int64, err error) {
	err = sqlfile.Each(ctx, db, statement, args, func(rows *sql.Rows) error {
		var n int64
		err := rows.Scan(&n)
		all = append(all, n)
		return err
	})
	return all, err
}

func TestAStatementIsPreparedOnceHoweverManyRunIt(t *testing.T) {
	eachDialect(t, func(t *testing.T, db *SQL) {
		on := openHot(t, db)
		mustExec(t, db, "CREATE TABLE things (n BIGINT PRIMARY KEY)", "INSERT INTO things VALUES (1), (2), (3)")
		const statement = "SELECT n FROM things WHERE n >= $1 ORDER BY n"
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				got, err := numbers(Prepared(t.Context()), on, statement, 2)
				if err != nil || !slices.Equal(got, []int64{2, 3}) {
					t.Errorf("%v, %v", got, err)
				}
			})
		}
		all.Wait()
		if _, err := numbers(t.Context(), on, "SELECT n FROM things"); err != nil {
			t.Error(err)
		}
		if len(on.kept.kept) != 1 || on.kept.kept[statement] == nil {
			t.Errorf("%d statements are kept, want the one that was to be", len(on.kept.kept))
		}
	})
}

func TestStatementsOfManyTextsAreNotAllKept(t *testing.T) {
	eachDialect(t, func(t *testing.T, db *SQL) {
		on := openHot(t, db)
		for i := range int64(mostPrepared + 10) {
			got, err := numbers(Prepared(t.Context()), on, "SELECT "+strconv.FormatInt(i, 10))
			if err != nil || !slices.Equal(got, []int64{i}) {
				t.Fatalf("%v, %v", got, err)
			}
		}
		if n := len(on.kept.kept); n != mostPrepared {
			t.Errorf("%d statements are kept, want %d", n, mostPrepared)
		}
	})
}

func TestAWrongStatementIsNotKept(t *testing.T) {
	eachDialect(t, func(t *testing.T, db *SQL) {
		on := openHot(t, db)
		if _, err := numbers(Prepared(t.Context()), on, "SELECT n FROM things WHERE n = $1", 1); err == nil {
			t.Fatal("there is no such table, and no error")
		}
		mustExec(t, db, "CREATE TABLE things (n BIGINT PRIMARY KEY)", "INSERT INTO things VALUES (1)")
		if got, err := numbers(Prepared(t.Context()), on, "SELECT n FROM things WHERE n = $1", 1); err != nil || len(got) != 1 {
			t.Errorf("%v, %v", got, err)
		}
	})
}

// What was prepared is on connections. These end: with a failover, or for being old.
func TestAPreparedStatementSurvivesItsConnections(t *testing.T) {
	db := openSQL(t, SQLConfig{URL: testkit.Postgres(t)})
	admin := openSQL(t, SQLConfig{URL: db.listenURL})
	on := openHot(t, db)
	const statement = "SELECT $1::bigint"
	for i := range int64(3) {
		if i > 0 {
			mustExec(t, admin, "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
		}
		if got, err := numbers(Prepared(t.Context()), on, statement, i); err != nil || !slices.Equal(got, []int64{i}) {
			t.Fatalf("round %d: %v, %v", i, got, err)
		}
	}
	if n := len(on.kept.kept); n != 1 {
		t.Errorf("%d statements are kept, want 1", n)
	}
}

func TestAStatementThatCannotBeRunAsItWasPreparedIsRunAnew(t *testing.T) {
	const statement = "SELECT n FROM things WHERE n = $1"
	tests := []struct {
		name  string
		spoil func(*testing.T, *SQL, hot)
	}{
		{"a migration changed its columns", func(t *testing.T, db *SQL, _ hot) {
			mustExec(t, db, "ALTER TABLE things ALTER n TYPE bigint")
		}},
		{"the server was told to forget it", func(t *testing.T, db *SQL, _ hot) { mustExec(t, db, "DEALLOCATE ALL") }},
		{"it was dropped this moment", func(t *testing.T, _ *SQL, on hot) {
			if err := on.kept.kept[statement].Close(); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			db := openSQL(t, SQLConfig{URL: testkit.Postgres(t), MaxConns: 1})
			on := openHot(t, db)
			mustExec(t, db, "CREATE TABLE things (n int PRIMARY KEY)", "INSERT INTO things VALUES (1)")
			for i := range 3 {
				got, err := numbers(Prepared(t.Context()), on, statement, 1)
				if err != nil || !slices.Equal(got, []int64{1}) {
					t.Fatalf("run %d: %v, %v", i, got, err)
				}
				if i == 0 {
					tt.spoil(t, db, on)
				}
			}
			if on.kept.kept[statement] == nil {
				t.Error("it is not prepared again")
			}
		})
	}
}

func TestAPreparedStatementEndsWithItsContext(t *testing.T) {
	db := openSQL(t, SQLConfig{URL: testkit.Postgres(t), MaxConns: 1})
	on := openHot(t, db)
	const statement = "SELECT 1::bigint FROM pg_sleep($1)"
	for range 2 { // it is prepared the first time
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		begin := time.Now()
		_, err := numbers(Prepared(ctx), on, statement, 60)
		cancel()
		if err == nil || time.Since(begin) > 10*time.Second {
			t.Fatalf("it ended with %v after %v", err, time.Since(begin))
		}
		if got, err := numbers(Prepared(t.Context()), on, statement, 0); err != nil || len(got) != 1 {
			t.Fatalf("the next one: %v, %v", got, err)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := numbers(Prepared(gone), on, statement, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("for a caller who is gone it ended with %v", err)
	}
}

func TestInATransactionNothingIsKept(t *testing.T) {
	eachDialect(t, func(t *testing.T, db *SQL) {
		d := db.Driver(NewSQLMetrics(prometheus.NewRegistry(), nil))
		if err := run(Prepared(t.Context()), d, true, "SELECT 1", true); err != nil {
			t.Fatal(err)
		}
		if n := len(d.(*driver).ExecQuerier.(observed).prepared.kept); n != 0 { //nolint:forcetypeassert // it is ours
			t.Errorf("%d statements are kept", n)
		}
	})
}

func TestALookupFindsTheRowsOfItsIDs(t *testing.T) {
	eachDialect(t, func(t *testing.T, db *SQL) {
		on := openHot(t, db)
		mustExec(t, db, "CREATE TABLE things (id BIGINT PRIMARY KEY)", "INSERT INTO things VALUES (-5), (0), (1), (2), (9223372036854775807)")
		l := NewLookup(db.Dialect, "SELECT id FROM things WHERE id = ANY($1)")
		for _, tt := range []struct{ ids, want []int64 }{
			{nil, nil},
			{[]int64{3}, nil},
			{[]int64{1}, []int64{1}},
			{[]int64{1, 3}, []int64{1}},
			{[]int64{2, 1, 2}, []int64{1, 2}},
			{[]int64{9223372036854775807, 0, -5}, []int64{-5, 0, 9223372036854775807}},
		} {
			var got []int64
			err := l.Each(t.Context(), on, tt.ids, func(rows *sql.Rows) error {
				var n int64
				err := rows.Scan(&n)
				got = append(got, n)
				return err
			})
			slices.Sort(got)
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("of %v it found %v (%v), want %v", tt.ids, got, err, tt.want)
			}
		}
		if n := len(on.kept.kept); n != 2 {
			t.Errorf("%d statements are kept, want 2: for one and for many", n)
		}
	})
}

func TestALookupIsByAListOfIDs(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a statement without a list is taken")
		}
	}()
	NewLookup(dialect.Postgres, "SELECT id FROM things WHERE id = $1")
}
