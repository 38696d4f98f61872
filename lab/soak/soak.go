// Package soak runs a realistic mixed load on two whole servers for minutes. It checks responses,
// latencies, hit ratios of caches, growth of memory, and the effect of restarts of Redis.
package soak

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	warmUp     = time.Minute      // after which hits are counted
	ratioGoal  = 0.95             // of all reads of caches
	errorGoal  = 1.0 / 10_000     // of arrivals, away from faults
	aftermath  = 15 * time.Second // after a fault; failures within it count for the fault
	downFor    = 2 * time.Second  // downtime of a restarted Redis
	raceTime   = 4 * time.Second  // for all buyers of a sale to arrive
	settleTime = 2 * time.Minute  // for all sales to settle
)

// Options configures [Run]. Again, Documents and Dir are required.
type Options struct {
	Command   func(args ...string) *exec.Cmd // a process of this program: soak, or tandian with its command line
	Documents map[string]string              // the app's, by hash
	Dir       string                         // for the chart and the server logs; created if missing

	Dur     time.Duration // default 10 minutes
	Rate    float64       // works per second, without sales; default 150
	Seed    uint64        // determines users, works and times
	Users   int           // default 20 000
	Shops   int           // default 20 000
	Notes   int           // default 40 000
	Follows int           // default 200 000
	Sockets int           // that follow live feeds; default 100
	Room    int           // maximum of concurrent works; default 2000
	Faults  []string      // Redis servers to restart: state, cache

	Progress io.Writer // default nowhere
}

// Faults returns the names of all faults.
func Faults() []string { return []string{"state", "cache"} }

// Times of the faults, as a share of the run; a sale opens right before the first.
var faultAt = map[string]float64{"state": 0.45, "cache": 0.62} //nolint:gochecknoglobals // a constant that Go cannot say

// ErrMissed means that a goal was not met.
var ErrMissed = errors.New("a goal was not met")

// A harm is a fault that has happened.
type harm struct {
	name       string
	from, till time.Duration // since the begin, until it was up again
}

// A course holds the results of a run.
type course struct {
	o       Options
	samples []sample
	series  [][]moment
	harms   []harm
	tallies []tally
	live    *audience
	missed  int
}

// Run opens stores and servers, runs the load, and writes a table to out and a picture into the
// folder. It returns [ErrMissed] if a goal was not met.
func Run(ctx context.Context, o Options, out io.Writer) error {
	o.Dur, o.Rate, o.Room = cmp.Or(o.Dur, 10*time.Minute), cmp.Or(o.Rate, 150), cmp.Or(o.Room, 2000)
	o.Users, o.Shops, o.Notes = cmp.Or(o.Users, 20_000), cmp.Or(o.Shops, 20_000), cmp.Or(o.Notes, 40_000)
	o.Follows, o.Sockets = cmp.Or(o.Follows, 200_000), cmp.Or(o.Sockets, 100)
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil { //nolint:gosec // a picture to look at
		return fmt.Errorf("create output folder: %w", err)
	}
	dir, err := os.MkdirTemp("", "soak")
	if err != nil {
		return fmt.Errorf("create folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var s stage
	defer s.close()
	c, err := s.measure(ctx, o, dir)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(o.Dir, "soak.svg"), c.picture(), 0o644); err != nil { //nolint:gosec // the same
		return fmt.Errorf("write the picture: %w", err)
	}
	if err := os.WriteFile(filepath.Join(o.Dir, "soak.tsv"), c.table(), 0o644); err != nil { //nolint:gosec // the same
		return fmt.Errorf("write the metrics of the servers: %w", err)
	}
	return c.report(out)
}

// measure runs the load and checks the sales.
func (s *stage) measure(ctx context.Context, o Options, dir string) (*course, error) {
	if err := s.openStores(ctx); err != nil {
		return nil, err
	}
	people, err := s.seed(ctx, o, dir)
	if err != nil {
		return nil, err
	}
	if err := s.startServers(ctx, o, dir); err != nil {
		return nil, err
	}
	api := newClient(s.urls, o.Documents)
	crowd, err := s.crowd(ctx, o, people, api)
	if err != nil {
		return nil, err
	}
	live, err := newAudience(s.urls, o.Documents)
	if err != nil {
		return nil, err
	}
	crowd.published = live.published
	crowd.sales = sales(o)

	c := &course{o: o, live: live}
	l := newLoop(o.Room, func(ctx context.Context, a arrival) error { return a.work.do(crowd, ctx, crowd.visit(a)) })
	schedule := plan(o, crowd.sales)
	watch := newWatch(api)
	background, stop := context.WithCancel(ctx)
	defer stop()
	var sockets sync.WaitGroup
	for i := range min(o.Sockets, len(people)-2) {
		sockets.Go(func() { live.follow(background, people[2+i]) })
	}
	fmt.Fprintf(o.Progress, "soak: %d works in %v\n", len(schedule), o.Dur)
	begin := time.Now().Add(time.Second)
	// The steps after an order continue after its own work.
	var later sync.WaitGroup
	crowd.after = func(ctx context.Context, wait time.Duration, w *work, do func(context.Context) error) {
		intended := time.Since(begin) + wait
		later.Go(func() {
			time.Sleep(time.Until(begin.Add(intended)))
			sm := sample{work: w, at: intended, sent: time.Since(begin) - intended}
			sm.end(begin, do(ctx))
			l.note(sm)
		})
	}
	group, groupCtx := errgroup.WithContext(background)
	group.Go(func() error { watch.run(groupCtx, begin); return nil })
	group.Go(func() error { c.progress(groupCtx, l, begin); return nil })
	group.Go(func() error { return s.harm(groupCtx, o, begin, c) })
	group.Go(func() error { return crowd.schedule(groupCtx, begin) })
	l.run(ctx, schedule, begin)
	later.Wait()
	settle, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	for _, sale := range crowd.sales {
		t, err := sale.settled(settle, s.db, api)
		if err != nil {
			return nil, err
		}
		c.tallies = append(c.tallies, t)
	}
	stop()
	if err := group.Wait(); err != nil {
		return nil, err
	}
	sockets.Wait()
	c.samples, c.series, c.missed = l.samples, watch.series, watch.missed
	return c, ctx.Err() //nolint:wrapcheck // it names the operation
}

// sales returns the sales of a run, one of them during the fault.
func sales(o Options) []*sale {
	var all []*sale
	for _, share := range []float64{0.1, 0.25, faultAt["state"], 0.7, 0.85} {
		opens := time.Duration(share * float64(o.Dur))
		if share == faultAt["state"] {
			opens -= time.Second
		}
		all = append(all, &sale{opens: max(opens, saleLead/2), stock: max(10, int(o.Rate*2))})
	}
	return all
}

// plan returns all arrivals.
func plan(o Options, sales []*sale) []arrival {
	all := draw(works(), o.Rate, o.Dur, o.Seed)
	buy := buying()
	for i, s := range sales {
		all = append(all, race(buy, i, s.stock*3/2, s.opens, raceTime, o.Seed)...)
	}
	return inOrder(all)
}

// harm restarts the stores of the chosen faults.
func (s *stage) harm(ctx context.Context, o Options, begin time.Time, c *course) error {
	for _, name := range Faults() {
		if !slices.Contains(o.Faults, name) {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Until(begin.Add(time.Duration(faultAt[name] * float64(o.Dur))))):
		}
		node := s.state
		if name == "cache" {
			node = s.cache
		}
		h := harm{name: name, from: time.Since(begin)}
		// Start the stopped server again even if the run ends.
		if err := node.Restart(context.WithoutCancel(ctx), downFor); err != nil {
			return fmt.Errorf("restart the %s Redis: %w", name, err)
		}
		h.till = time.Since(begin)
		c.harms = append(c.harms, h)
		fmt.Fprintf(o.Progress, "soak: the %s Redis was down for %.1f s\n", name, (h.till - h.from).Seconds())
	}
	return nil
}

// progress prints the state every ten seconds.
func (c *course) progress(ctx context.Context, l *loop, begin time.Time) {
	seen := 0
	every := time.NewTicker(10 * time.Second)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		recent := l.sinceLast(seen)
		seen += len(recent)
		took, failed := split(recent)
		slices.Sort(took)
		fmt.Fprintf(c.o.Progress, "soak: %3.0f s of %.0f, %4.0f works/s, p50 %.1f ms, p99 %.1f ms, %d under way, failed: %s\n", time.Since(begin).Seconds(), c.o.Dur.Seconds(),
			float64(len(recent))/10, millis(percentile(took, 50)), millis(percentile(took, 99)), len(l.room), formatCounts(failed))
	}
}

// split returns the times of correct responses, and the number of failures by code.
func split(samples []sample) (took []time.Duration, failed map[string]int) {
	failed = map[string]int{}
	for _, s := range samples {
		if s.failed != "" {
			failed[s.failed]++
			continue
		}
		took = append(took, s.took)
	}
	return took, failed
}

func formatCounts(by map[string]int) string {
	if len(by) == 0 {
		return "none"
	}
	names := make([]string, 0, len(by))
	for name := range by {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(by[b]-by[a], cmp.Compare(a, b)) })
	for i, name := range names {
		names[i] = fmt.Sprintf("%d %s", by[name], name)
	}
	return strings.Join(names, ", ")
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
