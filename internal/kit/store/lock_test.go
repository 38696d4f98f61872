package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestADataDirectoryHasOneHolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not there yet", "data")
	release, err := LockDir(dir, "process 7 (:8080)")
	if err != nil {
		t.Fatal(err)
	}
	_, err = LockDir(dir, "process 8 (:8081)")
	if err == nil || !strings.Contains(err.Error(), dir+" is in use by process 7 (:8080);") {
		t.Errorf("a second claim got %v, want who holds it", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	release, err = LockDir(dir, "process 8 (:8081)")
	if err != nil {
		t.Fatalf("after the release: %v", err)
	}
	_, err = LockDir(dir, "process 9 (:8082)")
	if err == nil || !strings.Contains(err.Error(), "in use by process 8 (:8081);") {
		t.Errorf("a claim after the second one got %v, want the new holder", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
}

func TestADataDirectoryThatCannotBeMadeIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LockDir(filepath.Join(file, "data"), "x"); err == nil || !strings.HasPrefix(err.Error(), "make data directory: ") {
		t.Errorf("got %v", err)
	}
}

// hold claims the directory as a process of its own, says so, and never ends.
func hold(dir string) {
	if _, err := LockDir(dir, fmt.Sprintf("process %d", os.Getpid())); err != nil {
		_, _ = fmt.Println(err)
		os.Exit(1)
	}
	_, _ = fmt.Println("held")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // ends with the test at the latest
	os.Exit(0)
}

func TestADataDirectoryIsFreeAfterItsHolderDied(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	holder := exec.CommandContext(ctx, os.Args[0])
	holder.Env = append(os.Environ(), "STORE_TEST_HOLD="+dir)
	if _, err := holder.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	said, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || said != "held\n" {
		t.Fatalf("the holder said %q (%v)", said, err)
	}
	_, err = LockDir(dir, "us")
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("in use by process %d;", holder.Process.Pid)) {
		t.Errorf("while it lives: %v", err)
	}
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait() // "killed"
	release, err := LockDir(dir, "us")
	if err != nil {
		t.Fatalf("after its death: %v", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
}

func TestAClaimIsHeldAloneOrShared(t *testing.T) {
	dsn := testkit.Postgres(t)
	a, b := openSQL(t, SQLConfig{URL: dsn}), openSQL(t, SQLConfig{URL: dsn})
	const alone, shared = false, true
	claim := func(db *SQL, name string, how, want bool) *Claim {
		t.Helper()
		c, err := db.Claim(t.Context(), name, how)
		if err != nil && !errors.Is(err, ErrClaimed) {
			t.Fatal(err)
		}
		if (err == nil) != want {
			t.Fatalf("%s could be claimed: %v, want %v", name, err == nil, want)
		}
		return c
	}
	release := func(claims ...*Claim) {
		t.Helper()
		for _, c := range claims {
			if err := c.Release(); err != nil {
				t.Fatal(err)
			}
		}
	}
	first := claim(a, "one", alone, true)
	claim(b, "one", alone, false)
	claim(a, "one", alone, false) // the same process, too
	claim(b, "one", shared, false)
	other := claim(b, "another", alone, true)
	release(first, first, other) // twice does no harm
	second, third := claim(a, "one", shared, true), claim(b, "one", shared, true)
	claim(a, "one", alone, false)
	release(second)
	claim(a, "one", alone, false)
	release(third)
	release(claim(a, "one", alone, true))
	if n := a.Stats().InUse + b.Stats().InUse; n != 0 {
		t.Errorf("%d connections are still in use", n)
	}
}

func TestALostClaimIsTakenAgainOrEndsItsHolder(t *testing.T) {
	dsn := testkit.Postgres(t)
	a, b := openSQL(t, SQLConfig{URL: dsn}), openSQL(t, SQLConfig{URL: dsn})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	held, err := a.Claim(ctx, "one", false)
	if err != nil {
		t.Fatal(err)
	}
	kill := func() {
		t.Helper()
		const query = `SELECT pg_terminate_backend(pid, 10000) FROM pg_locks
			WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
		var dead bool
		if err := b.QueryRowContext(ctx, query).Scan(&dead); err != nil || !dead {
			t.Fatalf("the holder's connection lives: %v", err)
		}
	}
	locks := func() (n int) { // seen, not taken: the holder is trying to
		const query = `SELECT count(*) FROM pg_locks
			WHERE locktype = 'advisory' AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
		if err := b.QueryRowContext(ctx, query).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	kill()
	if locks() != 0 {
		t.Fatal("the lock outlives its connection")
	}
	ended := make(chan error, 1)
	go func() { ended <- held.Run(ctx) }()
	testkit.Eventually(t, 10*time.Second, func() bool { return locks() == 1 })

	kill()
	var usurper *Claim
	testkit.Eventually(t, 10*time.Second, func() bool {
		usurper, err = b.Claim(ctx, "one", false)
		return err == nil
	})
	select {
	case err := <-ended:
		if !errors.Is(err, ErrClaimed) {
			t.Errorf("the holder ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the holder goes on although somebody else has its lock")
	}
	if err := held.Release(); err != nil {
		t.Errorf("a late release: %v", err)
	}
	if _, err := a.Claim(ctx, "one", false); !errors.Is(err, ErrClaimed) {
		t.Errorf("the late release freed the new holder's lock (%v)", err)
	}
	if err := usurper.Release(); err != nil {
		t.Error(err)
	}
}

// A server may be told to stop while the claim is being looked after.
func TestAClaimIsReleasedWhenItsCareIsCutShort(t *testing.T) {
	db := openSQL(t, SQLConfig{URL: testkit.Postgres(t)})
	for round := range 300 {
		held, err := db.Claim(t.Context(), "one", false)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Duration(round)*time.Microsecond, stop)
		held.holds(ctx)
		stop()
		if err := held.Release(); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
}

func TestAClaimDoesNotWaitForADatabaseThatIsAway(t *testing.T) {
	db := openSQL(t, SQLConfig{URL: testkit.Postgres(t), MaxConns: 1})
	conn, err := db.Conn(t.Context()) // no other is left
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := db.Claim(ctx, "one", false); err == nil || errors.Is(err, ErrClaimed) || !strings.Contains(err.Error(), `claim "one"`) {
		t.Errorf("got %v", err)
	}
}
