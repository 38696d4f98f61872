// Package schedule runs periodic jobs, once for all processes on a database: sweeps,
// roll-ups, scans. It is not for the work that each process does for itself, for polling
// loops, and for workers that claim rows one by one.
//
// Packages offer their jobs as values, and the app adds them to one [Schedule]. Each
// process with workers runs it. A row stores the time of the last run, and a lock
// prevents two processes from running a job at once. So any process runs a due job, and
// if it dies, another one does.
//
// One run per interval saves work; nothing may depend on it. A process that was paused
// does not know yet that it lost its lock, and clocks differ. So a job must also be
// correct if two processes run it at once.
package schedule

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/lock"
)

// A Job is periodic work. Name, Every and Do are required.
type Job struct {
	Name       string        // PACKAGE.JOB, up to 64 characters: the setting, the lock and the label
	Every      time.Duration // between two runs
	RetryAfter time.Duration // after a failed run; default a tenth of Every
	Timeout    time.Duration // of one run; default Every

	// Do does the work once. Its ctx ends after Timeout, when the lock is lost, and
	// Options.ShutdownGrace after the process begins to stop.
	Do func(ctx context.Context) error
}

// Options tunes a Schedule. DB and Locks are required.
type Options struct {
	DB            *sql.DB
	Locks         *lock.Locker          // shared by all processes on DB; needs no MaxHold
	Now           func() time.Time      // decides when jobs are due; nil: time.Now
	ShutdownGrace time.Duration         // how long a job may run after the end of Run's ctx; default 5 s
	Registerer    prometheus.Registerer // nil: no metrics
	Log           *slog.Logger          // nil: no log
}

const (
	maxFirstCheck = time.Minute      // the first check is at most this long after the start, ±10 %: caches warm up first
	maxRecheck    = time.Minute      // the longest wait, ±10 %, after a failed check or if another process runs the job
	minWait       = time.Millisecond // between two checks
)

// Schedule runs jobs. It is safe for concurrent use.
type Schedule struct {
	lock          runLock
	shutdownGrace time.Duration
	log           *slog.Logger
	m             *metrics
	warnings      clock.Throttle // limits the log if the database fails: each job would log it

	mu    sync.Mutex
	names map[string]bool
	lanes [][]Job
}

// New returns a Schedule without jobs. It starts nothing.
func New(o Options) *Schedule {
	now := o.Now
	if now == nil {
		now = time.Now
	}
	return &Schedule{
		lock:          runLock{db: o.DB, locks: o.Locks, now: now},
		shutdownGrace: cmp.Or(o.ShutdownGrace, 5*time.Second),
		log:           cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		m:             newMetrics(o.Registerer),
		names:         map[string]bool{},
	}
}

// Add adds jobs. Call it before [Schedule.Run]. The jobs of one call form a lane: a process runs
// them one after the other, to limit the load on the database. Lanes run in parallel. Each
// running job uses one database connection in addition to those of its Do.
//
// It panics if a name is taken, or a job lacks a required field.
func (s *Schedule) Add(jobs ...Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lane := make([]Job, len(jobs))
	for i, j := range jobs {
		if lane[i] = j.withDefaults(); s.names[j.Name] {
			panic(fmt.Sprintf("schedule: duplicate job %q", j.Name))
		}
		s.names[j.Name] = true
		s.m.addJob(j.Name)
	}
	s.lanes = append(s.lanes, lane)
}

func (j Job) withDefaults() Job {
	if j.Name == "" || j.Every <= 0 || j.Do == nil {
		panic(fmt.Sprintf("schedule: job %q: %v", j.Name, errIncompleteJob))
	}
	j.RetryAfter = cmp.Or(j.RetryAfter, j.Every/10)
	j.Timeout = cmp.Or(j.Timeout, j.Every)
	return j
}

// Jobs returns all jobs, lane by lane.
func (s *Schedule) Jobs() []Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Job
	for _, lane := range s.lanes {
		all = append(all, lane...)
	}
	return all
}

// Run runs due jobs until ctx ends, finishes the current ones, and returns nil. A job that then
// runs for longer than Options.ShutdownGrace is interrupted; it is due at once elsewhere.
//
// Run first checks a job about a minute after the start, or after Every if that is shorter.
// Later it checks when the job should be due, plus a random delay of up to a tenth of its
// interval. So processes that start together do not check together.
func (s *Schedule) Run(ctx context.Context) error {
	s.mu.Lock()
	lanes := s.lanes
	s.mu.Unlock()
	var all sync.WaitGroup
	for _, lane := range lanes {
		all.Go(func() { s.runLane(ctx, lane) })
	}
	all.Wait()
	return nil
}

func (s *Schedule) runLane(ctx context.Context, lane []Job) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(s.shutdownGrace, cancel) })()
	begun := time.Now() // waits follow the monotonic clock, not Options.Now
	next := make([]time.Duration, len(lane))
	for i, j := range lane {
		next[i] = clock.Jitter(min(j.Every, maxFirstCheck))
	}
	for {
		first := 0
		for i := range next {
			if next[i] < next[first] {
				first = i
			}
		}
		if len(lane) == 0 || clock.Sleep(ctx, max(next[first]-time.Since(begun), minWait)) != nil {
			return
		}
		wait := s.runIfDue(work, lane[first])
		next[first] = time.Since(begun) + wait
	}
}

// RunDue runs the due ones of these jobs now, one after the other. They need not have been
// added. It panics if a job lacks a required field.
func (s *Schedule) RunDue(ctx context.Context, jobs ...Job) {
	for _, j := range jobs {
		s.runIfDue(ctx, j.withDefaults())
	}
}

// runIfDue runs a job if it is due, and returns the time until the next check.
func (s *Schedule) runIfDue(ctx context.Context, j Job) (wait time.Duration) {
	begun := time.Now()
	v, err := s.lock.tryRun(ctx, j)
	ended := ctx.Err() != nil
	if v.ran && (v.failed == nil || !ended) {
		s.m.ran(j.Name, v.failed, time.Since(begun), s.lock.now())
	}
	if v.failed != nil && !ended {
		s.log.WarnContext(ctx, "scheduled job failed, retrying", "job", j.Name, "err", v.failed)
	}
	if err != nil && !ended {
		s.m.unasked(j.Name)
		if s.warnings.Allow() {
			s.log.WarnContext(ctx, "cannot acquire job lock", "job", j.Name, "err", err)
		}
	}
	if v.due < 0 || err != nil {
		return clock.Jitter(min(max(j.Every/10, time.Second), j.Every, maxRecheck))
	}
	return v.due + randomUpTo(j.Every/10)
}

func randomUpTo(d time.Duration) time.Duration {
	return rand.N(max(d, 1)) //nolint:gosec // not a secret
}
