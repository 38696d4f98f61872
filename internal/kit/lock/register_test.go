package lock_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"entgo.io/ent/dialect"
	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/lock"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// fenced is a database with a row that transactions of a lock's holders change.
type fenced struct {
	db      *sql.DB
	dialect string
	redis   *miniredis.Miniredis // where the locks are
}

// eachFenced runs a test in both dialects.
func eachFenced(t *testing.T, test func(*testing.T, fenced)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, stores storetest.Stores) {
		p := storetest.Open(t, stores)
		f := fenced{p.SQL.DB, p.Dialect, miniredis.RunT(t)}
		if _, err := f.db.ExecContext(t.Context(), "CREATE TABLE sums (total bigint NOT NULL)"); err != nil {
			t.Fatal(err)
		}
		if _, err := f.db.ExecContext(t.Context(), "INSERT INTO sums VALUES (0)"); err != nil {
			t.Fatal(err)
		}
		test(t, f)
	})
}

// holder takes a lock as one of several processes would, whoever thinks to have it.
func (f fenced) holder(t *testing.T, name string) *lock.Lease {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: f.redis.Addr(), MaxRetries: -1})
	l, err := lock.NewRedis([]redis.UniversalClient{rdb}, lock.Options{TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), soon)
		defer cancel()
		if err := errors.Join(l.Close(ctx), rdb.Close()); err != nil {
			t.Error(err)
		}
	})
	f.redis.Del("lock:{" + name + "}") // as if its time were over
	lease, err := l.Try(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

func (f fenced) begin(t *testing.T) *sql.Tx {
	t.Helper()
	tx, err := f.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

func (f fenced) total(t *testing.T) (n int) {
	t.Helper()
	if err := f.db.QueryRowContext(t.Context(), "SELECT total FROM sums").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// add is a transaction of a holder: it reads, and writes what it read and more.
func add(ctx context.Context, tx *sql.Tx, lease *lock.Lease, n int) error {
	if err := lock.Register(ctx, tx, lease); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return addRegistered(ctx, tx, n)
}

func addRegistered(ctx context.Context, tx *sql.Tx, n int) error {
	var total int
	if err := tx.QueryRowContext(ctx, "SELECT total FROM sums").Scan(&total); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE sums SET total = $1", total+n); err != nil {
		return err
	}
	return tx.Commit()
}

func TestRegisterRefusesAHolderOfThePast(t *testing.T) {
	eachFenced(t, func(t *testing.T, f fenced) {
		older, newer, other := f.holder(t, "x"), f.holder(t, "x"), f.holder(t, "y")
		steps := []struct {
			name  string
			lease *lock.Lease
			want  error
		}{
			{"the first", older, nil},
			{"the same once more", older, nil},
			{"a later holder", newer, nil},
			{"the first, after that", older, lock.ErrFenced},
			{"the first, again", older, lock.ErrFenced},
			{"the later one once more", newer, nil},
			{"the holder of another name", other, nil},
		}
		want := 0
		for _, step := range steps {
			err := add(t.Context(), f.begin(t), step.lease, 1)
			if !errors.Is(err, step.want) || (err == nil) != (step.want == nil) {
				t.Errorf("%s: want %v, got %v", step.name, step.want, err)
			}
			if step.want == nil {
				want++
			}
		}
		if d := cmp.Diff(want, f.total(t)); d != "" {
			t.Errorf("total (-want +got):\n%s", d)
		}
	})
}

func TestRegisterThatIsRolledBackDoesNotCount(t *testing.T) {
	eachFenced(t, func(t *testing.T, f fenced) {
		older, newer := f.holder(t, "x"), f.holder(t, "x")
		tx := f.begin(t)
		if err := lock.Register(t.Context(), tx, newer); err != nil {
			t.Fatal(err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		if err := add(t.Context(), f.begin(t), older, 1); err != nil {
			t.Error(err)
		}
	})
}

// The update that would be lost: one holder has read when another writes.
func TestRegisterLosesNoUpdateOfTwoHolders(t *testing.T) {
	tests := []struct {
		name       string
		olderFirst bool
		want       error // of the second
		total      int
	}{
		{"the later holder is first", false, lock.ErrFenced, 1},
		{"the earlier holder is first", true, nil, 3},
	}
	eachFenced(t, func(t *testing.T, f fenced) {
		for i, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				if _, err := f.db.ExecContext(t.Context(), "UPDATE sums SET total = 0"); err != nil {
					t.Fatal(err)
				}
				name := fmt.Sprint(i)
				first, second := f.holder(t, name), f.holder(t, name)
				if !tt.olderFirst {
					first, second = second, first
				}
				tx := f.begin(t)
				if err := lock.Register(t.Context(), tx, first); err != nil {
					t.Fatal(err)
				}
				done := make(chan error, 1)
				go func() {
					tx, err := f.db.BeginTx(t.Context(), nil) // SQLite lets one begin at a time
					if err == nil {
						err = add(t.Context(), tx, second, 2)
					}
					done <- err
				}()
				f.awaitsRow(t, done)
				if err := addRegistered(t.Context(), tx, 1); err != nil {
					t.Fatal(err)
				}
				err := receive(t, done)
				if !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
					t.Errorf("want %v, got %v", tt.want, err)
				}
				if d := cmp.Diff(tt.total, f.total(t)); d != "" {
					t.Errorf("total (-want +got):\n%s", d)
				}
			})
		}
	})
}

// awaitsRow waits until one transaction waits for another. SQLite shows none.
func (f fenced) awaitsRow(t *testing.T, done <-chan error) {
	t.Helper()
	testkit.Eventually(t, soon, func() bool {
		select {
		case err := <-done:
			t.Fatalf("it did not wait: %v", err)
		default:
		}
		if f.dialect != dialect.Postgres {
			return true
		}
		var n int
		err := f.db.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'").Scan(&n)
		return err == nil && n > 0
	})
}

func TestRegisterSaysWhyTheLockEnded(t *testing.T) {
	eachFenced(t, func(t *testing.T, f fenced) {
		lease := f.holder(t, "x")
		if err := lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := lock.Register(t.Context(), f.db, lease); !errors.Is(err, lock.ErrReleased) {
			t.Errorf("want ErrReleased, got %v", err)
		}
		if n := f.fences(t); n != 0 {
			t.Errorf("%d fences of a lock that ended", n)
		}
	})
}

func (f fenced) fences(t *testing.T) (n int) {
	t.Helper()
	if err := f.db.QueryRowContext(t.Context(), "SELECT count(*) FROM lock_fences").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestSweepDeletesWhatNobodyRegisteredForLong(t *testing.T) {
	eachFenced(t, func(t *testing.T, f fenced) {
		const old, young = 1234, 3 // more than go at once
		now := time.Now()
		insert := func(name string, age time.Duration) {
			_, err := f.db.ExecContext(t.Context(), "INSERT INTO lock_fences (name, token, registered_at) VALUES ($1, 1, $2)", name, now.Add(-age).UnixMilli())
			if err != nil {
				t.Fatal(err)
			}
		}
		for i := range old {
			insert(fmt.Sprint("old", i), time.Hour+time.Second)
		}
		for i := range young {
			insert(fmt.Sprint("young", i), time.Hour-time.Minute)
		}
		// It was old, and is registered again.
		insert("x", 2*time.Hour)
		if err := lock.Register(t.Context(), f.db, f.holder(t, "x")); err != nil {
			t.Fatal(err)
		}
		n, err := lock.Sweep(t.Context(), f.db, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]int{old, young + 1}, []int{int(n), f.fences(t)}); d != "" {
			t.Errorf("deleted, left (-want +got):\n%s", d)
		}
		if _, err := lock.Sweep(t.Context(), f.db, 0); err == nil || f.fences(t) != young+1 {
			t.Errorf("a sweep of all: %v, %d left", err, f.fences(t))
		}
	})
}

func TestSweepLeavesAFenceThatIsJustBeingRegistered(t *testing.T) {
	eachFenced(t, func(t *testing.T, f fenced) {
		if _, err := f.db.ExecContext(t.Context(), "INSERT INTO lock_fences VALUES ('x', 1, 1)"); err != nil {
			t.Fatal(err)
		}
		tx := f.begin(t)
		if err := lock.Register(t.Context(), tx, f.holder(t, "x")); err != nil {
			t.Fatal(err)
		}
		swept := make(chan int64, 1)
		errs := make(chan error, 1)
		go func() {
			n, err := lock.Sweep(t.Context(), f.db, time.Hour)
			swept <- n
			errs <- err
		}()
		f.awaitsRow(t, errs)
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if n, err := receive(t, swept), receive(t, errs); n != 0 || err != nil {
			t.Errorf("%d fences deleted, %v", n, err)
		}
	})
}
