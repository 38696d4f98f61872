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

// A Standby says what a world's PostgreSQL is replicated to.
type Standby string

const (
	// NoStandby is a PostgreSQL by itself.
	NoStandby Standby = ""
	// Synchronous is a streaming standby without which nothing is committed.
	Synchronous Standby = "synchronous"
	// Asynchronous is one that may be behind.
	Asynchronous Standby = "asynchronous"
)

const (
	streamPatience  = 20 * time.Second // until a standby has what the primary has
	promotePatience = 20 * time.Second
)

// A Failover is the promotion of a standby in the place of a primary that died.
type Failover struct {
	Behind   time.Time // since when the standby was told nothing; zero if it was told all
	Killed   time.Time // when the primary was
	Promoted time.Time // when the standby took writes
}

// openStandby makes a copy of a primary that follows it by the address way, and returns
// when it has all. The primary is not told to wait for it.
func (s *postgres) openStandby(ctx context.Context, dir string, way, port int) (*postgres, error) {
	to := &postgres{port: port, program: s.program, as: s.as}
	var err error
	if to.home, err = homeOf(s.as, dir); err != nil {
		return nil, err
	}
	data := filepath.Join(to.home, "data")
	program, err := filepath.EvalSymlinks(s.program)
	if err != nil {
		return nil, errors.Join(err, to.remove())
	}
	copying := exec.CommandContext(ctx, filepath.Join(filepath.Dir(program), "pg_basebackup"), //nolint:gosec // beside the program that was found
		"-D", data, "-R", "-X", "stream", "-c", "fast", "--no-sync", "-h", "127.0.0.1", "-p", strconv.Itoa(way), "-U", "tandian")
	copying.Dir, copying.SysProcAttr = to.home, &syscall.SysProcAttr{Credential: s.as}
	if out, err := copying.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("copy the primary: %w: %s", err, out), to.remove())
	}
	to.Proc = to.proc("the standby", data, filepath.Join(dir, "standby.log"))
	if err := to.Start(ctx); err != nil {
		return nil, errors.Join(err, to.close())
	}
	if err := s.followed(ctx, "streaming", "async"); err != nil {
		return nil, errors.Join(err, to.close())
	}
	return to, nil
}

// followed waits until a standby streams, and is of that kind.
func (s *postgres) followed(ctx context.Context, state, kind string) error {
	return until(ctx, streamPatience, "the standby streams", func() error {
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

// waitForStandby has each commit wait until the standby has it on its disk. The setting
// comes after the copy: a standby that had it too would wait for one of its own.
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
		return fmt.Errorf("make the standby synchronous: %w", err)
	}
	return s.followed(ctx, "streaming", "sync")
}

// promote makes a standby the primary.
func (s *postgres) promote(ctx context.Context) error {
	return s.with(func(db *sql.DB) error {
		var done bool
		err := db.QueryRowContext(ctx, `SELECT pg_promote(true, $1)`, int(promotePatience.Seconds())).Scan(&done)
		if err == nil && !done {
			err = errors.New("it did not become one in time")
		}
		if err != nil {
			return fmt.Errorf("promote the standby: %w", err)
		}
		return nil
	})
}

// databasesURL is the address of two servers, of which the one that takes writes is meant.
func databasesURL(one, other int) string {
	return fmt.Sprintf("postgres://tandian@127.0.0.1,127.0.0.1/postgres?port=%d,%d&target_session_attrs=read-write&sslmode=disable", one, other)
}

// promote kills the primary, an asynchronous one after its standby was told nothing for a
// while, leaves it dead for a moment as people and their tools do, and has the standby take
// its place. The primary stays dead: what it has beyond the standby has never happened.
func (w *World) promote(ctx context.Context, behind, dead time.Duration) error {
	w.mu.Lock()
	primary, standby := w.pg, w.standby
	w.mu.Unlock()
	if standby == nil {
		return ErrNothing
	}
	var f Failover
	if w.o.Standby == Asynchronous {
		if _, err := w.replication.add(hang(answers)); err != nil {
			return err
		}
		f.Behind = time.Now()
		_ = clock.Sleep(ctx, behind) // a fault that has begun is brought to its end
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

// Failovers are the promotions of standbys until now.
func (w *World) Failovers() []Failover {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]Failover(nil), w.failovers...)
}

// PromoteStandby kills the primary of PostgreSQL and promotes its standby. An asynchronous
// one lacks the last 0.7 to 1.5 seconds of commits.
func PromoteStandby() Fault {
	return Fault{Name: "promote-standby", Lasts: instant, Begin: func(ctx context.Context, w *World, r *rand.Rand) (func(context.Context) error, error) {
		return nil, w.promote(ctx, between(700*time.Millisecond, 1500*time.Millisecond)(r), between(500*time.Millisecond, 1500*time.Millisecond)(r))
	}}
}
