// Package reconcile runs scans: each compares one thing that is kept twice, says what
// differs, and mends it. It is the net beneath outboxes, streams and retries, for what
// those who should have told of a change never told, and for flaws.
//
// A room offers its scans as values, and the hall adds them to one [Scans]. From there
// they run by hand, dry or not, and on a schedule ([Scans.Jobs]), in one process at a
// time and no faster than each of them says.
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
	maxLines = 20            // findings that are told one by one, of one run
	runLimit = 6 * time.Hour // of one scheduled run: millions of things at its rate
	burst    = 500           // things that may be compared at once, whatever the rate
)

// A Scan compares one thing that is kept twice. Name, What and Run are required.
type Scan struct {
	Name        string        // one word, for people and for metrics: "order-lists"
	Description string        // what is compared with what, for people
	Every       time.Duration // between two runs on the schedule; 0 is an hour
	Rate        int           // things compared a second, unless the caller says; 0 is no limit
	Redis       bool          // it looks into the Redis that all processes share

	// Run compares all there is, once. It says what it sees by the methods of r, and
	// changes nothing at all if r.Dry is true. What it finds it mends, if that is right
	// without asking anybody, and looks again before it says so. An error means that not all was compared.
	Run func(ctx context.Context, r *Run) error
}

// A Run is one run of a scan. It is for one goroutine.
type Run struct {
	DryRun bool

	limit *rate.Limiter
	seen  func(compared int)
	Outcome
}

// An Outcome is what a run came to.
type Outcome struct {
	Compared int // things: sales, buyers, lists, counters …
	Found    int // that differ
	Repaired int // of those, that do not any more
	Lines    []string
	Duration time.Duration
}

// Left is how many findings were not mended.
func (o Outcome) Left() int { return o.Found - o.Repaired }

// Compare counts things that are about to be compared, and waits until they may be.
func (r *Run) Compare(ctx context.Context, things int) error {
	if err := r.WaitAgain(ctx, things); err != nil {
		return err
	}
	r.Compared += things
	r.seen(r.Compared)
	return nil
}

// WaitAgain waits until things may be compared once more: they are counted already, and cost
// as much as at the first look.
func (r *Run) WaitAgain(ctx context.Context, things int) error {
	for n := things; n > 0; n -= burst {
		if err := r.limit.WaitN(ctx, min(n, burst)); err != nil {
			return fmt.Errorf("wait for the turn of %d things: %w", things, err)
		}
	}
	return nil
}

// Report counts something that differs. The line says which and how, by ids alone; the
// first twenty lines are kept.
func (r *Run) Report(line string) {
	if r.Found++; r.Found <= maxLines {
		r.Lines = append(r.Lines, line)
	}
}

// CountRepaired counts findings that are right now.
func (r *Run) CountRepaired(findings int) { r.Repaired += findings }

// Options say how a scan is run by hand.
type Options struct {
	DryRun     bool
	Rate       int                // things a second; 0 is what the scan says, below 0 no limit
	OnProgress func(compared int) // told as it goes; may be nil
}

// Scans are all scans of a program. It is safe for concurrent use once all are added.
type Scans struct {
	all      []Scan
	log      *slog.Logger
	counts   [3]*prometheus.CounterVec // compared, found, mended
	failures *prometheus.CounterVec
}

// New builds Scans without a scan. It starts nothing.
func New(reg prometheus.Registerer, log *slog.Logger) *Scans {
	s := &Scans{log: log}
	for i, c := range []struct{ name, help string }{
		{"compared", "Things that scans compared, by scan."},
		{"found", "Things that differed, by scan."},
		{"mended", "Things that differed and were set right, by scan."},
	} {
		s.counts[i] = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tandian_reconcile_" + c.name + "_total", Help: c.help}, []string{"what"})
		reg.MustRegister(s.counts[i])
	}
	s.failures = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "tandian_reconcile_failures_total", Help: "Runs of scans that did not come to their end, by scan.",
	}, []string{"what"})
	reg.MustRegister(s.failures)
	return s
}

// Add adds scans. All calls come before all others. It panics if a name is taken.
func (s *Scans) Add(scans ...Scan) {
	for _, scan := range scans {
		if _, err := s.ByName(scan.Name); err == nil {
			panic(fmt.Sprintf("reconcile: two scans are named %q", scan.Name))
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

// ByName returns the scans of these names, in that order. One that there is not is an
// error that lists those that there are.
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
			return nil, fmt.Errorf("there is no scan %q; there are %s", name, strings.Join(known, ", "))
		}
	}
	return found, nil
}

// RunOnce runs a scan now, whatever other processes do. With an error the outcome is what
// was seen until then.
func (s *Scans) RunOnce(ctx context.Context, scan Scan, o Options) (Outcome, error) {
	r := &Run{DryRun: o.DryRun, limit: rate.NewLimiter(rate.Inf, burst), seen: o.OnProgress}
	if n := cmp.Or(o.Rate, scan.Rate); n > 0 {
		r.limit.SetLimit(rate.Limit(n))
	}
	if r.seen == nil {
		r.seen = func(int) {}
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

// Jobs are the scans as what is due every so often: reconcile.NAME of each that was added
// before. Of any number of processes one runs a scan at a time, and one that has been run
// by any of them is not due for the others either.
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
		s.log.WarnContext(ctx, "a scan found differences", "scan", scan.Name, "found", o.Found, "mended", o.Repaired, "findings", o.Lines)
	}
	return err
}
