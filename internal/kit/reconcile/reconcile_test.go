package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/tandian-dev/tandian/internal/kit/reconcile"
)

// runJobs runs all scans like the schedule.
func runJobs(t *testing.T, s *reconcile.Scans) (failed error) {
	t.Helper()
	for _, j := range s.Jobs() {
		failed = errors.Join(failed, j.Do(t.Context()))
	}
	return failed
}

// newScan returns a scan of items: some differ, and some of these can be repaired.
func newScan(name string, items, differ, repair int) reconcile.Scan {
	return reconcile.Scan{Name: name, Description: "nothing", Run: func(ctx context.Context, r *reconcile.Run) error {
		if err := r.Compare(ctx, items); err != nil {
			return err
		}
		for n := range differ {
			r.Report(fmt.Sprint("thing ", n))
		}
		if !r.DryRun {
			r.CountRepaired(repair)
		}
		return nil
	}}
}

func TestMetricsOfScans(t *testing.T) {
	reg := prometheus.NewRegistry()
	s := reconcile.New(reg, slog.New(slog.DiscardHandler))
	s.Add(newScan("shoes", 10, 3, 2))
	check := func(compared, found, repaired int) {
		t.Helper()
		want := fmt.Sprintf(`# HELP tandian_reconcile_compared_total Compared items, by scan.
# TYPE tandian_reconcile_compared_total counter
tandian_reconcile_compared_total{what="shoes"} %d
# HELP tandian_reconcile_found_total Items that differed, by scan.
# TYPE tandian_reconcile_found_total counter
tandian_reconcile_found_total{what="shoes"} %d
# HELP tandian_reconcile_mended_total Repaired items, by scan.
# TYPE tandian_reconcile_mended_total counter
tandian_reconcile_mended_total{what="shoes"} %d
`, compared, found, repaired)
		if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "tandian_reconcile_compared_total", "tandian_reconcile_found_total", "tandian_reconcile_mended_total"); err != nil {
			t.Error(err)
		}
	}
	check(0, 0, 0)
	if err := runJobs(t, s); err != nil {
		t.Error(err)
	}
	check(10, 3, 2)
	o, err := s.RunOnce(t.Context(), s.All()[0], reconcile.Options{DryRun: true})
	if err != nil || o.Unrepaired() != 3 || !cmp.Equal(o.Lines, []string{"thing 0", "thing 1", "thing 2"}) {
		t.Errorf("dry run: got %+v, %v", o, err)
	}
	check(20, 6, 2)
}

func TestFirstTwentyFindingsAreListed(t *testing.T) {
	s := reconcile.New(prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	s.Add(newScan("shoes", 100, 90, 90))
	o, err := s.RunOnce(t.Context(), s.All()[0], reconcile.Options{})
	if err != nil || o.Found != 90 || o.Unrepaired() != 0 || len(o.Lines) != 20 || o.Lines[19] != "thing 19" {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestScansRespectTheirRate(t *testing.T) {
	for _, tt := range []struct {
		name      string
		scan, say int
		want      time.Duration // for 2500 items, of which 500 are free
	}{
		{"of the scan", 1000, 0, 2 * time.Second},
		{"none", 0, 0, 0},
		{"of the options", 1000, 500, 4 * time.Second},
		{"no limit in the options", 1000, -1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := reconcile.New(prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
				scan := newScan("shoes", 2500, 0, 0)
				scan.Rate = tt.scan
				s.Add(scan)
				var seen []int
				o, err := s.RunOnce(t.Context(), s.All()[0], reconcile.Options{Rate: tt.say, OnProgress: func(n int) { seen = append(seen, n) }})
				if err != nil || o.Duration.Round(10*time.Millisecond) != tt.want || !cmp.Equal(seen, []int{2500}) {
					t.Errorf("got %+v, %v, progress %v; want %v", o, err, seen, tt.want)
				}
			})
		})
	}
}

// A second comparison takes its time, but is not counted.
func TestWaitAgainIsPacedAndNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := reconcile.New(prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
		o, err := s.RunOnce(t.Context(), reconcile.Scan{Name: "shoes", Rate: 1000, Run: func(ctx context.Context, r *reconcile.Run) error {
			return errors.Join(r.Compare(ctx, 1500), r.WaitAgain(ctx, 1500))
		}}, reconcile.Options{})
		if err != nil || o.Compared != 1500 || o.Duration.Round(10*time.Millisecond) != 2500*time.Millisecond {
			t.Errorf("%+v, %v", o, err)
		}
	})
}

// A failed scan is counted, and returns its error to the schedule.
func TestFailedScanIsCounted(t *testing.T) {
	reg := prometheus.NewRegistry()
	s := reconcile.New(reg, slog.New(slog.DiscardHandler))
	s.Add(reconcile.Scan{Name: "broken", Description: "nothing", Every: time.Minute, Run: func(context.Context, *reconcile.Run) error { return errors.New("broken scan") }})
	if err := runJobs(t, s); err == nil || !strings.Contains(err.Error(), "broken scan") {
		t.Errorf("%v", err)
	}
	const want = `# HELP tandian_reconcile_failures_total Failed runs, by scan.
# TYPE tandian_reconcile_failures_total counter
tandian_reconcile_failures_total{what="broken"} 1
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "tandian_reconcile_failures_total"); err != nil {
		t.Error(err)
	}
	if j := s.Jobs()[0]; j.Name != "reconcile.broken" || j.Every != time.Minute {
		t.Errorf("got job %s, every %v", j.Name, j.Every)
	}
}

func TestByName(t *testing.T) {
	s := reconcile.New(prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	s.Add(newScan("shoes", 1, 0, 0), newScan("gloves", 1, 0, 0))
	if found, err := s.ByName("gloves", "shoes"); err != nil || found[0].Name != "gloves" || found[1].Name != "shoes" {
		t.Errorf("%v, %v", found, err)
	}
	if _, err := s.ByName("shoes", "hats"); err == nil || err.Error() != `unknown scan "hats" (want one of shoes, gloves)` {
		t.Errorf("%v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("Add did not panic for a duplicate name")
		}
	}()
	s.Add(newScan("shoes", 1, 0, 0))
}
