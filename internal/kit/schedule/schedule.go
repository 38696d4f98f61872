// Package schedule runs work that is due every so often, once for all processes on a
// database: sweeps, roll-ups, scans. What a process does for itself, what polls, and what
// claims its rows one by one is no business of it.
//
// A room offers its jobs as values; the hall adds them to one [Schedule]. Each process
// with workers runs it. When a job was last run stands in a row that all of them read, and
// a lock keeps two from running it at once, so any process does what is due, and
// when one dies in the midst of it, another does.
//
// That a job runs once in its interval spares work; nothing may rest on it. A process that
// was paused does not know yet that it lost its lock, and clocks differ. So what a job
// does must be right when two do it at once, too.
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

// A Job is work that is due every so often. Name, Every and Do are required.
type Job struct {
	Name       string        // ROOM.WHAT, up to 64 characters: its row in the settings, its lock, its label
	Every      time.Duration // between two runs
	RetryAfter time.Duration // after a run that failed; 0 is a tenth of Every
	Timeout    time.Duration // of one run; 0 is Every

	// Do does the work once. Its ctx ends after Limit, when the lock is lost, and a few
	// seconds after the process begins to stop.
	Do func(ctx context.Context) error
}

// Options tune a Schedule. DB and Locks are required.
type Options struct {
	DB            *sql.DB
	Locks         *lock.Locker          // of all processes on DB; their holds need no bound
	Now           func() time.Time      // by which jobs are due; nil: time.Now
	ShutdownGrace time.Duration         // how long a job may go on when Run ends; 0 is five seconds
	Registerer    prometheus.Registerer // nil: no metrics
	Log           *slog.Logger          // nil: nothing is logged
}

const (
	firstLook    = time.Minute      // after the start, at most: what is due can wait until the caches are warm
	checkTimeout = time.Minute      // before the next look at a job that somebody else is at
	least        = time.Millisecond // between two looks
)

// Schedule runs jobs. It is safe for concurrent use.
type Schedule struct {
	turns    runLock
	farewell time.Duration
	log      *slog.Logger
	m        *metrics
	away     clock.Throttle // says that the database does not answer: each job would

	mu    sync.Mutex
	names map[string]bool
	lanes [][]Job
}

// New builds a Schedule without a job. It starts nothing.
func New(o Options) *Schedule {
	now := o.Now
	if now == nil {
		now = time.Now
	}
	return &Schedule{
		turns:    runLock{db: o.DB, locks: o.Locks, now: now},
		farewell: cmp.Or(o.ShutdownGrace, 5*time.Second),
		log:      cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		m:        newMetrics(o.Registerer),
		names:    map[string]bool{},
	}
}

// Add adds jobs, before [Schedule.Run]. Those of one call make a lane: a process runs them
// one after the other, so that they do not all fall upon the database at once, and those
// of another lane do not wait for them. While a job runs, its lane takes up a connection
// to the database beside those that the work needs.
//
// It panics if a name is taken, or a job lacks what it needs.
func (s *Schedule) Add(jobs ...Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lane := make([]Job, len(jobs))
	for i, j := range jobs {
		if lane[i] = j.whole(); s.names[j.Name] {
			panic(fmt.Sprintf("schedule: two jobs are named %q", j.Name))
		}
		s.names[j.Name] = true
		s.m.show(j.Name)
	}
	s.lanes = append(s.lanes, lane)
}

// whole fills in what was not said.
func (j Job) whole() Job {
	if j.Name == "" || j.Every <= 0 || j.Do == nil {
		panic(fmt.Sprintf("schedule: job %q: %v", j.Name, errNoWork))
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

// Run runs jobs when they are due until ctx ends, finishes those in hand, and returns nil.
// A job that takes longer than [Options].Farewell then is cut short, and is due at once
// for somebody else.
//
// The first look at a job is up to a minute after the start, each later one when it should
// be due, up to a tenth of its interval late, at random: so processes that began together
// do not all ask at once.
func (s *Schedule) Run(ctx context.Context) error {
	s.mu.Lock()
	lanes := s.lanes
	s.mu.Unlock()
	var all sync.WaitGroup
	for _, lane := range lanes {
		all.Go(func() { s.drive(ctx, lane) })
	}
	all.Wait()
	return nil
}

// drive runs the jobs of a lane.
func (s *Schedule) drive(ctx context.Context, lane []Job) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(s.farewell, cancel) })()
	begun := time.Now() // waits are measured by the clock that timers have, not by that of turns
	next := make([]time.Duration, len(lane))
	for i, j := range lane {
		next[i] = clock.Jitter(min(j.Every, firstLook))
	}
	for {
		first := 0
		for i := range next {
			if next[i] < next[first] {
				first = i
			}
		}
		if len(lane) == 0 || clock.Sleep(ctx, max(next[first]-time.Since(begun), least)) != nil {
			return
		}
		wait := s.look(work, lane[first])
		next[first] = time.Since(begun) + wait
	}
}

// RunDue runs those of the jobs that are due, one after the other, now. They need not have
// been added.
func (s *Schedule) RunDue(ctx context.Context, jobs ...Job) {
	for _, j := range jobs {
		s.look(ctx, j.whole())
	}
}

// look runs a job if it is due, and says when to look again.
func (s *Schedule) look(ctx context.Context, j Job) (wait time.Duration) {
	begun := time.Now()
	v, err := s.turns.take(ctx, j)
	ended := ctx.Err() != nil
	if v.ran && (v.failed == nil || !ended) {
		s.m.ran(j.Name, v.failed, time.Since(begun), s.turns.now())
	}
	if v.failed != nil && !ended {
		s.log.WarnContext(ctx, "scheduled work failed; it is tried again", "job", j.Name, "err", v.failed)
	}
	if err != nil && !ended {
		s.m.unasked(j.Name)
		if s.away.Allow() {
			s.log.WarnContext(ctx, "whose turn scheduled work is cannot be known or written down; it is asked again", "job", j.Name, "err", err)
		}
	}
	if v.due < 0 || err != nil {
		return clock.Jitter(min(max(j.Every/10, time.Second), j.Every, checkTimeout))
	}
	return v.due + spread(j.Every/10)
}

// spread is up to d, at random.
func spread(d time.Duration) time.Duration {
	return rand.N(max(d, 1)) //nolint:gosec // no secret
}
