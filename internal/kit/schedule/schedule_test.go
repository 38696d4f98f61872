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

// memory is a database with the table of settings alone, in a folder of the test.
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

// locks are those of one process.
func locks(t *testing.T) *lock.Locker {
	t.Helper()
	l, err := dblock.NewLocal(lock.Options{MaxHold: -1})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// run runs a schedule in the background and returns how to end it.
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

// Runs come once in the interval and up to a tenth later, each at another time of it.
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
			t.Fatalf("%d runs in a day: %v", len(at), at)
		}
		if at[0] < 54*time.Second || at[0] > 66*time.Second {
			t.Errorf("the first look was after %v, want about a minute", at[0])
		}
		gaps := map[time.Duration]bool{}
		for i := 1; i < len(at); i++ {
			gap := at[i] - at[i-1]
			if gap < time.Hour || gap > 66*time.Minute {
				t.Errorf("%v lie between two runs", gap)
			}
			gaps[gap.Round(time.Second)] = true
		}
		if len(gaps) < 15 {
			t.Errorf("%d runs have %d distances: no jitter", len(at), len(gaps))
		}
	})
}

// A run that failed is tried again after a part of the interval, and told once.
func TestAFailureIsToldOnceAndTriedAgainSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		reg := prometheus.NewRegistry()
		s := schedule.New(schedule.Options{DB: memory(t), Locks: locks(t), Registerer: reg, Log: slog.New(slog.NewTextHandler(&log, nil))})
		var at []time.Time
		s.Add(schedule.Job{Name: "a.broken", Every: 10 * time.Hour, Do: func(context.Context) error {
			if at = append(at, time.Now()); len(at) == 1 {
				return errors.New("no luck")
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
				t.Errorf("tried again after %v, want an hour, and up to another", gap)
			}
		}
		if n := strings.Count(log.String(), "no luck"); n != 1 {
			t.Errorf("told %d times:\n%s", n, &log)
		}
		if n := strings.Count(log.String(), "worse luck"); n != 1 {
			t.Errorf("the panic was told %d times:\n%s", n, &log)
		}
		if n := testutil.CollectAndCount(reg, "tandian_schedule_run_seconds"); n != 2 {
			t.Errorf("durations of %d jobs", n)
		}
	})
}

// The end of a process lets a job in hand finish, and cuts short what takes longer: that
// is due at once for another process.
func TestTheJobInHandIsFinished(t *testing.T) {
	for _, tt := range []struct {
		name       string
		takes, end time.Duration // end is after the process was told to end
		rows       int
	}{
		{"a short one finishes", 4 * time.Second, 4 * time.Second, 1},
		{"a long one is cut short", time.Minute, 5 * time.Second, 0},
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
				told := time.Now()
				stop()
				if took := time.Since(told); took != tt.end {
					t.Errorf("it ended after %v, want %v", took, tt.end)
				}
				var rows int
				if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM settings").Scan(&rows); err != nil || rows != tt.rows {
					t.Errorf("%d runs are written down, want %d (%v)", rows, tt.rows, err)
				}
			})
		})
	}
}

func TestARunHasADeadline(t *testing.T) {
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
			t.Errorf("it ran for %v, %v", took, err)
		}
	})
}

// By the clock that is injected, and the row that all processes read. A row of a clock
// that is ahead a little does not make a job due, one far off does.
func TestWhatIsDueIsAQuestionOfTheRow(t *testing.T) {
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
			t.Errorf("%v later it ran %d times, want %d", step.pass, ran, step.runs)
		}
	}
}

func TestJobsHaveNames(t *testing.T) {
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
					t.Errorf("%s: it was added", name)
				}
			}()
			schedule.New(schedule.Options{}).Add(jobs...)
		}()
	}
}
