package schedule_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/dblock"
	"github.com/tandian-dev/tandian/internal/kit/lock"
	"github.com/tandian-dev/tandian/internal/kit/schedule"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// memory returns a database with only the table of settings, in a temporary directory.
func memory(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sqldb.OpenSQL(sqldb.SQLConfig{DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE settings (name text PRIMARY KEY, value text NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	return db.DB
}

// locks returns the Locker of one process.
func locks(t *testing.T) *lock.Locker {
	t.Helper()
	l, err := dblock.NewLocal(lock.Options{MaxHold: -1})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// run runs a schedule in the background and returns a function that stops it.
func run(t *testing.T, s *schedule.Schedule) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// Runs are an interval apart plus up to a tenth, at random.
func TestJobsRunAtTheirIntervalWithJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := schedule.New(schedule.Options{DB: memory(t), Locks: locks(t)})
		begun := time.Now()
		var at []time.Duration
		s.Add(schedule.Job{Name: "a.hourly", Every: time.Hour, Do: func(context.Context) error {
			at = append(at, time.Since(begun))
			return nil
		}})
		stop := run(t, s)
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		stop()
		if len(at) < 22 || len(at) > 24 {
			t.Fatalf("got %d runs in a day: %v", len(at), at)
		}
		if at[0] < 54*time.Second || at[0] > 66*time.Second {
			t.Errorf("got first check after %v, want about a minute", at[0])
		}
		gaps := map[time.Duration]bool{}
		for i := 1; i < len(at); i++ {
			gap := at[i] - at[i-1]
			if gap < time.Hour || gap > 66*time.Minute {
				t.Errorf("got %v between two runs", gap)
			}
			gaps[gap.Round(time.Second)] = true
		}
		if len(gaps) < 15 {
			t.Errorf("got %d runs with %d distances, want jitter", len(at), len(gaps))
		}
	})
}

// A failed run is retried after a part of the interval, and logged once.
func TestFailureIsLoggedOnceAndRetriedSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		reg := prometheus.NewRegistry()
		s := schedule.New(schedule.Options{DB: memory(t), Locks: locks(t), Registerer: reg, Log: slog.New(slog.NewTextHandler(&log, nil))})
		var at []time.Time
		s.Add(schedule.Job{Name: "a.broken", Every: 10 * time.Hour, Do: func(context.Context) error {
			if at = append(at, time.Now()); len(at) == 1 {
				return errors.New("broken job")
			}
			if len(at) == 2 {
				panic("worse luck")
			}
			return nil
		}}, schedule.Job{Name: "a.sound", Every: time.Hour, Do: func(context.Context) error { return nil }})
		counted := func(ok, failed float64) {
			t.Helper()
			got := map[string]float64{}
			families, err := reg.Gather()
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range families {
				for _, m := range f.GetMetric() {
					if f.GetName() == "tandian_schedule_runs_total" && m.GetLabel()[0].GetValue() == "a.broken" {
						got[m.GetLabel()[1].GetValue()] = m.GetCounter().GetValue()
					}
				}
			}
			if d := cmp.Diff(map[string]float64{"ok": ok, "failed": failed, "unasked": 0}, got); d != "" {
				t.Errorf("runs (-want +got)\n%s", d)
			}
		}
		counted(0, 0)
		stop := run(t, s)
		time.Sleep(90 * time.Second)
		synctest.Wait()
		counted(0, 1)
		time.Sleep(9 * time.Hour)
		synctest.Wait()
		counted(1, 2)
		stop()
		for i := 1; i < len(at); i++ {
			if gap := at[i].Sub(at[i-1]); gap < time.Hour || gap > 2*time.Hour {
				t.Errorf("got retry after %v, want one to two hours", gap)
			}
		}
		if n := strings.Count(log.String(), "broken job"); n != 1 {
			t.Errorf("got %d log records:\n%s", n, &log)
		}
		if n := strings.Count(log.String(), "worse luck"); n != 1 {
			t.Errorf("got %d log records of the panic:\n%s", n, &log)
		}
		if n := testutil.CollectAndCount(reg, "tandian_schedule_run_seconds"); n != 2 {
			t.Errorf("got durations of %d jobs", n)
		}
	})
}

// A stopping process finishes the current job, and interrupts a longer one. That one is
// due at once in another process.
func TestStopFinishesCurrentJob(t *testing.T) {
	for _, tt := range []struct {
		name       string
		takes, end time.Duration // end: time from the stop to the end
		rows       int
	}{
		{"a short job finishes", 4 * time.Second, 4 * time.Second, 1},
		{"a long job is interrupted", time.Minute, 5 * time.Second, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, begun := memory(t), make(chan struct{})
				s := schedule.New(schedule.Options{DB: db, Locks: locks(t)})
				s.Add(schedule.Job{Name: "a.job", Every: time.Hour, Do: func(ctx context.Context) error {
					close(begun)
					return clock.Sleep(ctx, tt.takes)
				}})
				stop := run(t, s)
				<-begun
				stopped := time.Now()
				stop()
				if took := time.Since(stopped); took != tt.end {
					t.Errorf("got end after %v, want %v", took, tt.end)
				}
				var rows int
				if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM settings").Scan(&rows); err != nil || rows != tt.rows {
					t.Errorf("got %d recorded runs, want %d (%v)", rows, tt.rows, err)
				}
			})
		})
	}
}

func TestRunHasTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := schedule.New(schedule.Options{DB: memory(t), Locks: locks(t)})
		begun := time.Now()
		var err error
		s.RunDue(t.Context(), schedule.Job{Name: "a.slow", Every: time.Hour, Timeout: time.Minute, Do: func(ctx context.Context) error {
			<-ctx.Done()
			err = ctx.Err()
			return err
		}})
		if took := time.Since(begun); took != time.Minute || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got a run of %v, %v", took, err)
		}
	})
}

// The injected clock and the shared row decide. A row from a clock that is a little ahead
// does not make a job due, one far off does.
func TestRowDecidesWhetherJobIsDue(t *testing.T) {
	db, now := memory(t), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := schedule.New(schedule.Options{DB: db, Locks: locks(t), Now: func() time.Time { return now }})
	ran := 0
	job := schedule.Job{Name: "a.job", Every: time.Hour, Do: func(context.Context) error { ran++; return nil }}
	for _, step := range []struct {
		pass time.Duration
		runs int
	}{{0, 1}, {time.Second, 1}, {59 * time.Minute, 1}, {time.Minute, 2}, {-time.Minute, 2}, {-2 * time.Hour, 3}} {
		now = now.Add(step.pass)
		if s.RunDue(t.Context(), job); ran != step.runs {
			t.Errorf("%v later: got %d runs, want %d", step.pass, ran, step.runs)
		}
	}
}

func TestInvalidJobsPanic(t *testing.T) {
	do := func(context.Context) error { return nil }
	for name, jobs := range map[string][]schedule.Job{
		"one name twice": {{Name: "a.b", Every: 1, Do: do}, {Name: "a.b", Every: 1, Do: do}},
		"no name":        {{Every: 1, Do: do}},
		"no interval":    {{Name: "a.b", Do: do}},
		"no work":        {{Name: "a.b", Every: 1}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: Add did not panic", name)
				}
			}()
			schedule.New(schedule.Options{}).Add(jobs...)
		}()
	}
}
