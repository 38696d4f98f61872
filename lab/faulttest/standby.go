package faulttest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// Standby is the replication mode of a world's PostgreSQL.
type Standby string

const (
	// NoStandby means no replication.
	NoStandby Standby = ""
	// Synchronous makes each commit wait for a streaming standby.
	Synchronous Standby = "synchronous"
	// Asynchronous allows the standby to be behind.
	Asynchronous Standby = "asynchronous"
)

const (
	streamTimeout  = 20 * time.Second // until the standby is in sync
	promoteTimeout = 20 * time.Second
)

// Failover is the promotion of a standby after its primary died.
type Failover struct {
	Behind   time.Time // when replication stopped; zero for a synchronous standby
	Killed   time.Time // when the primary died
	Promoted time.Time // when the standby accepted writes
}

// openStandby copies the primary through the proxy at replicationPort and starts the copy as
// its standby. It returns when the standby streams. Commits do not wait for the standby.
func (s *postgres) openStandby(ctx context.Context, dir string, replicationPort, port int) (*postgres, error) {
	to := &postgres{port: port, program: s.program, credential: s.credential}
	var err error
	if to.home, err = homeOf(s.credential, dir); err != nil {
		return nil, err
	}
	data := filepath.Join(to.home, "data")
	program, err := filepath.EvalSymlinks(s.program)
	if err != nil {
		return nil, errors.Join(err, to.remove())
	}
	copying := exec.CommandContext(ctx, filepath.Join(filepath.Dir(program), "pg_basebackup"), //nolint:gosec // in the directory of the server program
		"-D", data, "-R", "-X", "stream", "-c", "fast", "--no-sync", "-h", "127.0.0.1", "-p", strconv.Itoa(replicationPort), "-U", "tandian")
	copying.Dir, copying.SysProcAttr = to.home, &syscall.SysProcAttr{Credential: s.credential}
	if out, err := copying.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("copy primary: %w: %s", err, out), to.remove())
	}
	to.Proc = to.proc("the standby", data, filepath.Join(dir, "standby.log"))
	if err := to.Start(ctx); err != nil {
		return nil, errors.Join(err, to.close())
	}
	if err := s.waitForStandbyState(ctx, "streaming", "async"); err != nil {
		return nil, errors.Join(err, to.close())
	}
	return to, nil
}

// waitForStandbyState waits until one standby has a state and a sync state.
func (s *postgres) waitForStandbyState(ctx context.Context, state, kind string) error {
	return until(ctx, streamTimeout, "the standby streams", func() error {
		return s.with(func(db *sql.DB) error {
			var n int
			err := db.QueryRowContext(ctx, `SELECT count(*) FROM pg_stat_replication WHERE application_name = 'walreceiver' AND state = $1 AND sync_state = $2`, state, kind).Scan(&n)
			if err == nil && n != 1 {
				err = fmt.Errorf("%d standbys are %s and %s", n, state, kind)
			}
			return err
		})
	})
}

// waitForStandby makes each commit wait until it is on the standby's disk. It changes the
// setting after the copy, because a standby with that setting would wait for its own.
func (s *postgres) waitForStandby(ctx context.Context) error {
	err := s.with(func(db *sql.DB) error {
		for _, statement := range []string{`ALTER SYSTEM SET synchronous_standby_names = '*'`, `SELECT pg_reload_conf()`} {
			if _, err := db.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("enable synchronous replication: %w", err)
	}
	return s.waitForStandbyState(ctx, "streaming", "sync")
}

// promote promotes a standby to primary.
func (s *postgres) promote(ctx context.Context) error {
	return s.with(func(db *sql.DB) error {
		var done bool
		err := db.QueryRowContext(ctx, `SELECT pg_promote(true, $1)`, int(promoteTimeout.Seconds())).Scan(&done)
		if err == nil && !done {
			err = errors.New("timeout")
		}
		if err != nil {
			return fmt.Errorf("promote standby: %w", err)
		}
		return nil
	})
}

// databasesURL returns the address of two servers; clients use the one that accepts writes.
func databasesURL(one, other int) string {
	return fmt.Sprintf("postgres://tandian@127.0.0.1,127.0.0.1/postgres?port=%d,%d&target_session_attrs=read-write&sslmode=disable", one, other)
}

// promote kills the primary and, after a pause as in a real failover, promotes the standby.
// An asynchronous standby stops receiving data some time before. The primary stays dead, so
// commits that the standby lacks are lost.
func (w *World) promote(ctx context.Context, behind, dead time.Duration) error {
	w.mu.Lock()
	primary, standby := w.pg, w.standby
	w.mu.Unlock()
	if standby == nil {
		return ErrNothing
	}
	var f Failover
	if w.o.Standby == Asynchronous {
		if _, err := w.replication.add(hang(replies)); err != nil {
			return err
		}
		f.Behind = time.Now()
		_ = clock.Sleep(ctx, behind) // a fault that has begun is completed
	}
	if err := primary.Kill9(); err != nil {
		return err
	}
	f.Killed = time.Now()
	_ = clock.Sleep(ctx, dead)
	if err := standby.promote(ctx); err != nil {
		return err
	}
	f.Promoted = time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pg, w.standby, w.former = standby, nil, primary
	w.failovers = append(w.failovers, f)
	return nil
}

// Failovers returns the promotions so far.
func (w *World) Failovers() []Failover {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]Failover(nil), w.failovers...)
}

// PromoteStandby kills the primary of PostgreSQL and promotes its standby. An asynchronous
// standby lacks the last 0.7 to 1.5 seconds of commits.
func PromoteStandby() Fault {
	return Fault{Name: "promote-standby", Lasts: instant, Begin: func(ctx context.Context, w *World, r *rand.Rand) (func(context.Context) error, error) {
		return nil, w.promote(ctx, between(700*time.Millisecond, 1500*time.Millisecond)(r), between(500*time.Millisecond, 1500*time.Millisecond)(r))
	}}
}
