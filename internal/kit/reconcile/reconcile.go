// Package reconcile runs scans. Each scan compares derived data with its source, reports
// differences and repairs them. It is the fallback behind outboxes, streams and retries,
// for lost notifications and for bugs.
//
// Packages offer their scans as values, and the app adds them to one [Scans]. Scans run
// by hand, dry or not, and on a schedule ([Scans.Jobs]), in one process at a time and no
// faster than their rate.
package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/tandian-dev/tandian/internal/kit/schedule"
)

const (
	maxLines = 20            // findings of one run that are listed
	runLimit = 6 * time.Hour // of one scheduled run: millions of items at its rate
	burst    = 500           // items that may be compared at once, whatever the rate
)

// A Scan compares derived data with its source. Name, Description and Run are required.
type Scan struct {
	Name        string        // one word, also a label: "order-lists"
	Description string        // the compared data, human-readable
	Every       time.Duration // between two scheduled runs; default 1 h
	Rate        int           // items per second, unless Options.Rate is set; 0 is no limit
	Redis       bool          // the scan reads the Redis that all processes share

	// Run compares all items once and reports through r. It repairs differences where
	// that needs no decision, and checks an item again before it reports it. It changes
	// nothing if r.DryRun is set. An error means that some items were not compared.
	Run func(ctx context.Context, r *Run) error
}

// A Run is one run of a scan. It is not safe for concurrent use.
type Run struct {
	DryRun bool

	limit      *rate.Limiter
	onProgress func(compared int)
	Outcome
}

// An Outcome is the result of a run.
type Outcome struct {
	Compared int // items: sales, buyers, lists, counters …
	Found    int // items that differ
	Repaired int // of these
	Lines    []string
	Duration time.Duration
}

// Unrepaired returns the number of findings that were not repaired.
func (o Outcome) Unrepaired() int { return o.Found - o.Repaired }

// Compare counts items that are about to be compared, and waits for the rate limit.
func (r *Run) Compare(ctx context.Context, items int) error {
	if err := r.WaitAgain(ctx, items); err != nil {
		return err
	}
	r.Compared += items
	r.onProgress(r.Compared)
	return nil
}

// WaitAgain waits for the rate limit before counted items are compared again. That costs
// as much as the first time.
func (r *Run) WaitAgain(ctx context.Context, items int) error {
	for n := items; n > 0; n -= burst {
		if err := r.limit.WaitN(ctx, min(n, burst)); err != nil {
			return fmt.Errorf("wait to compare %d items: %w", items, err)
		}
	}
	return nil
}

// Report counts an item that differs. The line names the item and the difference, with
// ids only. The first twenty lines are stored.
func (r *Run) Report(line string) {
	if r.Found++; r.Found <= maxLines {
		r.Lines = append(r.Lines, line)
	}
}

// CountRepaired counts repaired findings.
func (r *Run) CountRepaired(findings int) { r.Repaired += findings }

// Options tunes a run by hand.
type Options struct {
	DryRun     bool
	Rate       int                // items per second; 0: Scan.Rate; negative: no limit
	OnProgress func(compared int) // called during the run; may be nil
}

// Scans holds all scans of a program. It is safe for concurrent use after all are added.
type Scans struct {
	all      []Scan
	log      *slog.Logger
	counts   [3]*prometheus.CounterVec // compared, found, repaired
	failures *prometheus.CounterVec
}

// New returns Scans without a scan. It starts nothing.
func New(reg prometheus.Registerer, log *slog.Logger) *Scans {
	s := &Scans{log: log}
	for i, c := range []struct{ name, help string }{
		{"compared", "Compared items, by scan."},
		{"found", "Items that differed, by scan."},
		{"mended", "Repaired items, by scan."},
	} {
		s.counts[i] = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tandian_reconcile_" + c.name + "_total", Help: c.help}, []string{"what"})
		reg.MustRegister(s.counts[i])
	}
	s.failures = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "tandian_reconcile_failures_total", Help: "Failed runs, by scan.",
	}, []string{"what"})
	reg.MustRegister(s.failures)
	return s
}

// Add adds scans. Call it before any other method. It panics if a name is taken.
func (s *Scans) Add(scans ...Scan) {
	for _, scan := range scans {
		if _, err := s.ByName(scan.Name); err == nil {
			panic(fmt.Sprintf("reconcile: duplicate scan %q", scan.Name))
		}
		scan.Every = cmp.Or(scan.Every, time.Hour)
		s.all = append(s.all, scan)
		for _, c := range append(s.counts[:], s.failures) {
			c.WithLabelValues(scan.Name)
		}
	}
}

// All returns the scans, in the order in which they were added.
func (s *Scans) All() []Scan { return s.all }

// ByName returns the scans of these names, in that order. It returns an error for an
// unknown name.
func (s *Scans) ByName(names ...string) ([]Scan, error) {
	var found []Scan
	for _, name := range names {
		n := len(found)
		var known []string
		for _, scan := range s.all {
			known = append(known, scan.Name)
			if scan.Name == name {
				found = append(found, scan)
			}
		}
		if len(found) == n {
			return nil, fmt.Errorf("unknown scan %q (want one of %s)", name, strings.Join(known, ", "))
		}
	}
	return found, nil
}

// RunOnce runs a scan now, even if another process runs it. If it returns an error, the
// outcome covers the items compared until then.
func (s *Scans) RunOnce(ctx context.Context, scan Scan, o Options) (Outcome, error) {
	r := &Run{DryRun: o.DryRun, limit: rate.NewLimiter(rate.Inf, burst), onProgress: o.OnProgress}
	if n := cmp.Or(o.Rate, scan.Rate); n > 0 {
		r.limit.SetLimit(rate.Limit(n))
	}
	if r.onProgress == nil {
		r.onProgress = func(int) {}
	}
	began := time.Now()
	err := scan.Run(ctx, r)
	r.Duration = time.Since(began)
	for i, n := range []int{r.Compared, r.Found, r.Repaired} {
		s.counts[i].WithLabelValues(scan.Name).Add(float64(n))
	}
	if err != nil {
		s.failures.WithLabelValues(scan.Name).Inc()
		return r.Outcome, fmt.Errorf("compare %s: %w", scan.Name, err)
	}
	return r.Outcome, nil
}

// Jobs returns the added scans as scheduled jobs with the names reconcile.NAME. One
// process at a time runs a scan, and a run in any process counts for all.
func (s *Scans) Jobs() []schedule.Job {
	jobs := make([]schedule.Job, len(s.all))
	for i, scan := range s.all {
		jobs[i] = schedule.Job{Name: "reconcile." + scan.Name, Every: scan.Every, Timeout: runLimit, Do: func(ctx context.Context) error {
			return s.scheduled(ctx, scan)
		}}
	}
	return jobs
}

func (s *Scans) scheduled(ctx context.Context, scan Scan) error {
	o, err := s.RunOnce(ctx, scan, Options{})
	if o.Found > 0 {
		s.log.WarnContext(ctx, "scan found differences", "scan", scan.Name, "found", o.Found, "mended", o.Repaired, "findings", o.Lines)
	}
	return err
}
