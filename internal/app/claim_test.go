package app

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/dblock"
	"github.com/tandian-dev/tandian/internal/kit/lock"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/testkit"
)

// claimant opens the database and the locks of one process.
func claimant(t *testing.T, cfg sqldb.SQLConfig) (*sqldb.SQL, *lock.Locker) {
	t.Helper()
	db, err := sqldb.OpenSQL(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	locks, err := dblock.NewPostgres(db.DB, lock.Options{MaxHold: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := locks.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return db, locks
}

func noReport(error) {}

func TestClaimIsExclusiveOrShared(t *testing.T) {
	dsn := testkit.Postgres(t)
	dbA, a := claimant(t, sqldb.SQLConfig{URL: dsn})
	dbB, b := claimant(t, sqldb.SQLConfig{URL: dsn})
	const alone, shared = false, true
	claims := func(locks *lock.Locker, how, want bool) *claim {
		t.Helper()
		c, err := claimDatabase(t.Context(), locks, how, noReport)
		if err != nil && !errors.Is(err, errClaimed) {
			t.Fatal(err)
		}
		if (err == nil) != want {
			t.Fatalf("claimed: got %v, want %v", err == nil, want)
		}
		return c
	}
	release := func(claims ...*claim) {
		t.Helper()
		for _, c := range claims {
			if err := c.release(); err != nil {
				t.Fatal(err)
			}
		}
	}
	first := claims(a, alone, true)
	claims(b, alone, false)
	claims(a, alone, false) // the same process, too
	claims(b, shared, false)
	other, err := b.Try(t.Context(), "another")
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	release(first, first) // the second release is a no-op
	second, third := claims(a, shared, true), claims(b, shared, true)
	claims(a, alone, false)
	release(second)
	claims(a, alone, false)
	release(third)
	release(claims(a, alone, true))
	if n := dbA.Stats().InUse + dbB.Stats().InUse; n != 0 {
		t.Errorf("%d connections are still in use", n)
	}
}

func TestLostClaimIsRetakenOrEndsItsHolder(t *testing.T) {
	dsn := testkit.Postgres(t)
	_, a := claimant(t, sqldb.SQLConfig{URL: dsn})
	db, b := claimant(t, sqldb.SQLConfig{URL: dsn})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	held, err := claimDatabase(ctx, a, false, noReport)
	if err != nil {
		t.Fatal(err)
	}
	kill := func() {
		t.Helper()
		const query = `SELECT pg_terminate_backend(pid, 10000) FROM pg_locks
			WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
		var dead bool
		if err := db.QueryRowContext(ctx, query).Scan(&dead); err != nil || !dead {
			t.Fatalf("the connection of the holder is alive: %v", err)
		}
	}
	locks := func() (n int) { // of any session; it takes none, because the holder does
		const query = `SELECT count(*) FROM pg_locks
			WHERE locktype = 'advisory' AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
		if err := db.QueryRowContext(ctx, query).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	kill()
	if locks() != 0 {
		t.Fatal("the lock outlives its connection")
	}
	ended := make(chan error, 1)
	go func() { ended <- held.run(ctx) }()
	testkit.Eventually(t, 10*time.Second, func() bool { return locks() == 1 })

	kill()
	var usurper *claim
	testkit.Eventually(t, 10*time.Second, func() bool {
		usurper, err = claimDatabase(ctx, b, false, noReport)
		return err == nil
	})
	select {
	case err := <-ended:
		if !errors.Is(err, errClaimed) {
			t.Errorf("the holder ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the holder continues although another process has its lock")
	}
	if err := held.release(); err != nil {
		t.Errorf("a late release: %v", err)
	}
	if _, err := claimDatabase(ctx, a, false, noReport); !errors.Is(err, errClaimed) {
		t.Errorf("the late release freed the new holder's lock (%v)", err)
	}
	if err := usurper.release(); err != nil {
		t.Error(err)
	}
}

// The context of the start ends before the claim.
func TestClaimOutlivesItsAttempt(t *testing.T) {
	db, locks := claimant(t, sqldb.SQLConfig{URL: testkit.Postgres(t)})
	for round := range 300 {
		ctx, stop := context.WithCancel(t.Context())
		held, err := claimDatabase(ctx, locks, false, noReport)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		stop()
		if err := held.lease.Context().Err(); err != nil {
			t.Fatalf("round %d: the claim ended with the start: %v", round, err)
		}
		// A server may stop while run holds the claim.
		ctx, stop = context.WithCancel(t.Context())
		time.AfterFunc(time.Duration(round)*time.Microsecond, stop)
		if err := held.run(ctx); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if err := held.release(); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
	if n := db.Stats().OpenConnections; n != 1 {
		t.Errorf("got %d open connections, want 1", n)
	}
}

func TestClaimDoesNotWaitForUnavailableDatabase(t *testing.T) {
	db, locks := claimant(t, sqldb.SQLConfig{URL: testkit.Postgres(t), MaxConns: 1})
	conn, err := db.Conn(t.Context()) // the only one
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := claimDatabase(ctx, locks, false, noReport); err == nil || errors.Is(err, errClaimed) || !strings.Contains(err.Error(), `claim "tandian:redis"`) {
		t.Errorf("got %v", err)
	}
}
