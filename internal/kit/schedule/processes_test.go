package schedule_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/dblock"
	"github.com/tandian-dev/tandian/internal/kit/lock"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/kit/schedule"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// processEnv makes this test binary one of several processes with a schedule. Its value
// is the URL of their database.
const processEnv = "TANDIAN_TEST_SCHEDULE"

const (
	often = time.Second            // the interval of the jobs of these processes
	slow  = 100 * time.Millisecond // duration of a run, unless the table makes it hang
)

func TestMain(m *testing.M) {
	redisdb.SilenceRedisLog()
	if url := os.Getenv(processEnv); url != "" {
		fmt.Fprintln(os.Stderr, process(url))
		os.Exit(1) // it should have been killed
	}
	os.Exit(m.Run())
}

// process runs two jobs until it is killed. Each run is a row, which gets its end later.
func process(url string) error {
	db, err := sqldb.OpenSQL(sqldb.SQLConfig{URL: url})
	if err != nil {
		return err
	}
	locks, err := dblock.NewPostgres(db.DB, lock.Options{MaxHold: -1})
	if err != nil {
		return err
	}
	s := schedule.New(schedule.Options{DB: db.DB, Locks: locks})
	for _, name := range []string{"test.one", "test.other"} {
		s.Add(schedule.Job{Name: name, Every: often, Timeout: time.Minute, Do: func(ctx context.Context) error {
			var id int64
			if err := db.QueryRowContext(ctx, "INSERT INTO runs (job, pid, begun) VALUES ($1, $2, clock_timestamp()) RETURNING id", name, os.Getpid()).Scan(&id); err != nil {
				return err
			}
			_ = clock.Sleep(ctx, slow)
			var hang bool
			for {
				if err := db.QueryRowContext(ctx, "SELECT EXISTS (SELECT FROM hang WHERE job = $1)", name).Scan(&hang); err != nil || !hang {
					break
				}
				_ = clock.Sleep(ctx, 10*time.Millisecond)
			}
			_, err := db.ExecContext(ctx, "UPDATE runs SET ended = clock_timestamp() WHERE id = $1", id)
			return err
		}})
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return s.Run(ctx)
}

// Three processes run each job once per interval. If the one that runs it is killed,
// another does.
func TestProcessesRunEachJobOnce(t *testing.T) {
	url := storetest.Postgres(t)
	db, err := sqldb.OpenSQL(sqldb.SQLConfig{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	exec1 := func(statement string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec1("CREATE TABLE runs (id bigint GENERATED ALWAYS AS IDENTITY, job text, pid integer, begun timestamptz, ended timestamptz)")
	exec1("CREATE TABLE hang (job text)")
	processes := map[int]*exec.Cmd{}
	for range 3 {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), processEnv+"="+url)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		processes[cmd.Process.Pid] = cmd
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	}
	count := func(what string, args ...any) (n int) {
		t.Helper()
		if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM runs WHERE "+what, args...).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, job := range []string{"test.one", "test.other"} {
		testkit.Eventually(t, 40*time.Second, func() bool { return count("job = $1 AND ended IS NOT NULL", job) >= 4 })
		// Between two starts: at least the interval, except for the delay between the row and the
		// due check. From end to start: at most the interval, a tenth of jitter, and the delays of
		// a busy machine.
		for i, gap := range gaps(t, db.DB, job) {
			if gap < often-50*time.Millisecond || gap > 3*often {
				t.Errorf("%s: got %v between runs %d and %d", job, gap, i, i+1)
			}
		}
	}
	if n := count("true", nil...); n == 0 || len(pids(t, db.DB)) < 2 {
		t.Errorf("got processes %v for %d runs, want several", pids(t, db.DB), n)
	}

	exec1("INSERT INTO hang VALUES ('test.one')")
	var holder int
	testkit.Eventually(t, 20*time.Second, func() bool {
		err := db.QueryRowContext(t.Context(), "SELECT pid FROM runs WHERE job = 'test.one' AND ended IS NULL AND begun < clock_timestamp() - interval '500 ms'").Scan(&holder)
		return err == nil
	})
	_ = clock.Sleep(t.Context(), 3*often)
	if n := count("job = 'test.one' AND ended IS NULL"); n != 1 {
		t.Fatalf("got %d concurrent runs", n)
	}
	var last int64
	if err := db.QueryRowContext(t.Context(), "SELECT max(id) FROM runs WHERE job = 'test.one'").Scan(&last); err != nil {
		t.Fatal(err)
	}
	if err := processes[holder].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	exec1("DELETE FROM hang")
	testkit.Eventually(t, 20*time.Second, func() bool {
		return count("job = 'test.one' AND ended IS NOT NULL AND id > $1 AND pid <> $2", last, holder) >= 1
	})
	t.Logf("another process ran the job %v after its holder was killed", time.Since(killed).Round(time.Millisecond))
	if n := count("job = 'test.one' AND ended IS NULL AND id <> $1", last); n > 1 {
		t.Errorf("got %d concurrent runs", n)
	}
}

// The session of the lock ends, as on a restart of the database. Another process may have
// run the job since then, so the failed run is not recorded.
func TestLostLockEndsJob(t *testing.T) {
	t.Parallel()
	db, err := sqldb.OpenSQL(sqldb.SQLConfig{URL: storetest.Postgres(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	locks, err := dblock.NewPostgres(db.DB, lock.Options{MaxHold: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = locks.Close(context.WithoutCancel(t.Context())) }()
	var log testkit.Log
	s := schedule.New(schedule.Options{DB: db.DB, Locks: locks, Log: slog.New(slog.NewTextHandler(&log, nil))})
	const end = `SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_locks
		WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
	runs := 0
	job := schedule.Job{Name: "test.lost", Every: time.Hour, Do: func(ctx context.Context) error {
		if runs++; runs > 1 {
			return nil
		}
		var ended int
		if err := db.QueryRowContext(context.WithoutCancel(ctx), end).Scan(&ended); err != nil || ended != 1 {
			t.Errorf("got %d ended sessions, %v", ended, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Minute):
			t.Error("the job continued without its lock")
			return nil
		}
	}}
	recorded := func() (n int) {
		t.Helper()
		if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM settings WHERE name = 'test.lost'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	s.RunDue(t.Context(), job)
	if n := recorded(); n != 0 {
		t.Error("the run is recorded")
	}
	if !strings.Contains(log.String(), lock.ErrLost.Error()) {
		t.Errorf("log has no reason:\n%s", &log)
	}
	s.RunDue(t.Context(), job)
	if n := recorded(); n != 1 || runs != 2 {
		t.Errorf("got %d runs, %d recorded", runs, n)
	}
}

// gaps returns the times between the starts of the runs of a job.
func gaps(t *testing.T, db *sql.DB, job string) (found []time.Duration) {
	t.Helper()
	var text string
	err := db.QueryRowContext(t.Context(), `SELECT string_agg(ms::bigint::text, ' ' ORDER BY begun) FROM (
		SELECT begun, extract(epoch FROM begun - lag(begun) OVER (ORDER BY begun)) * 1000 AS ms FROM runs WHERE job = $1) AS each WHERE ms IS NOT NULL`, job).Scan(&text)
	if err != nil {
		t.Fatal(err)
	}
	for field := range strings.FieldsSeq(text) {
		ms, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, time.Duration(ms)*time.Millisecond)
	}
	return found
}

// pids returns the processes that ran a job.
func pids(t *testing.T, db *sql.DB) []string {
	t.Helper()
	var text string
	if err := db.QueryRowContext(t.Context(), "SELECT string_agg(DISTINCT pid::text, ' ') FROM runs").Scan(&text); err != nil {
		t.Fatal(err)
	}
	return strings.Fields(text)
}
