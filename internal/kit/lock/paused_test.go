//go:build unix

package lock_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/lock"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// isHolder, in the environment, makes the test program a process that holds a
// lock: a Redis, a database and whether it registers, between spaces.
const isHolder = "TANDIAN_LOCK_TEST_HOLDER"

// TestAPausedHolderCannotWrite is L6, with a process that is stopped for longer
// than its lock lasts, between its last look at the lock and its write. The lock
// goes to another, who writes. Without Register the first one's write counts, when
// it goes on.
func TestAPausedHolderCannotWrite(t *testing.T) {
	for _, tt := range []struct {
		name, how, says string
		last            string
	}{
		{"who does not register", "checks", "done", "the first holder"},
		{"who registers", "registers", "fenced", "the second holder"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stores, url := storetest.Real(t), testkit.Redis(t)
			db := storetest.Open(t, stores).SQL
			exec1(t, db.DB, "CREATE TABLE letters (by text NOT NULL)")
			exec1(t, db.DB, "INSERT INTO letters VALUES ('nobody')")
			first := startHolder(t, url, stores.SQL.URL, tt.how)
			if got := first.line(t); got != "holds" {
				t.Fatalf("the first holder says %q", got)
			}
			first.stops(t)

			h := &redisHouse{urls: []string{url}}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			err := h.process(t, lock.Options{}).Do(ctx, "note 1", func(ctx context.Context, lease *lock.Lease) error {
				tx, err := db.BeginTx(ctx, nil)
				if err != nil {
					return err
				}
				defer func() { _ = tx.Rollback() }()
				if tt.how == "registers" {
					if err := lock.Register(ctx, tx, lease); err != nil {
						return err
					}
				}
				if _, err := tx.ExecContext(ctx, "UPDATE letters SET by = 'the second holder'"); err != nil {
					return err
				}
				return tx.Commit()
			})
			if err != nil {
				t.Fatalf("the second holder: %v", err)
			}
			first.goesOn(t)
			if got := first.line(t); got != tt.says {
				t.Errorf("the first holder says %q", got)
			}
			var last string
			if err := db.QueryRowContext(t.Context(), "SELECT by FROM letters").Scan(&last); err != nil {
				t.Fatal(err)
			}
			if last != tt.last {
				t.Errorf("%s wrote last", last)
			}
		})
	}
}

func exec1(t *testing.T, db *sql.DB, text string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), text); err != nil {
		t.Fatal(err)
	}
}

// holder is a process that holds a lock.
type holder struct {
	cmd *exec.Cmd
	in  io.Writer
	out *bufio.Scanner
}

func startHolder(t *testing.T, args ...string) *holder {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), isHolder+"="+strings.Join(args, " "))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may be stopped
		_ = cmd.Wait()
	})
	return &holder{cmd, in, bufio.NewScanner(out)}
}

func (h *holder) line(t *testing.T) string {
	t.Helper()
	if !h.out.Scan() {
		t.Fatalf("the holder ended: %v", h.out.Err())
	}
	return h.out.Text()
}

// stops waits until the process has stopped itself.
func (h *holder) stops(t *testing.T) {
	t.Helper()
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(h.cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("wait for the holder to stop: %v, %v", status, err)
	}
}

func (h *holder) goesOn(t *testing.T) {
	t.Helper()
	err := h.cmd.Process.Signal(syscall.SIGCONT)
	if err == nil {
		_, err = fmt.Fprintln(h.in)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// stopsFirst is a transaction whose process stops before the first statement.
type stopsFirst struct {
	*sql.Tx
	stopped bool
}

func (s *stopsFirst) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if !s.stopped {
		s.stopped = true
		_, _ = fmt.Println("holds")
		if err := syscall.Kill(os.Getpid(), syscall.SIGSTOP); err != nil {
			return nil, err
		}
		// The signal may reach another thread first, so this one waits for a word.
		if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
			return nil, err
		}
	}
	return s.Tx.ExecContext(context.WithoutCancel(ctx), query, args...)
}

// runHolder is the process: it takes a lock for a second, begins a transaction,
// looks whether it has the lock still, is stopped, and writes.
func runHolder(args []string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	o, err := redis.ParseURL(args[0])
	if err != nil {
		return err
	}
	o.MaxRetries, o.ContextTimeoutEnabled = -1, true
	rdb := redis.NewClient(o)
	db, err := sql.Open("postgres", args[1])
	if err != nil {
		return err
	}
	l, err := lock.NewRedis([]redis.UniversalClient{rdb}, lock.Options{NodeTimeout: patience})
	if err != nil {
		return err
	}
	lease, err := l.Acquire(ctx, "note 1", lock.For(time.Second))
	if err != nil {
		return err
	}
	begun, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	tx := &stopsFirst{Tx: begun}
	switch args[2] {
	case "registers":
		if err = lock.Register(ctx, tx, lease); errors.Is(err, lock.ErrFenced) {
			_, err = fmt.Println("fenced")
			return errors.Join(err, begun.Rollback())
		}
	default:
		err = context.Cause(lease.Context())
	}
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE letters SET by = 'the first holder'"); err != nil {
		return err
	}
	if err := begun.Commit(); err != nil {
		return err
	}
	_, err = fmt.Println("done")
	return err
}
