package servebench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/lab/harness"
	"github.com/tandian-dev/tandian/lab/testbed"
)

// writes is one run of [Writes].
type writes struct {
	*bench

	ids       idRanges
	liked     map[pair]bool // likes of the range of notes; nil: not read yet
	checkedIn int           // customers that checked in
	idle      cost          // of a second without load
	bare      *testbed.Server

	chosenShops int64 // number of loads that rate or save shops

	results     map[string][]*writeResult
	pgbenchMany []*writeResult // with the connections of the run
	pgbenchOne  []*writeResult // with one connection
	bareRates   []float64
}

// Writes measures what a server writes a second next to pgbench, which writes the rows of a
// like in one statement on a copy of the same database. It prints a table.
//
// Each round runs pgbench, then each mutation. A row of the table is the round with the
// median ratio. A wrong answer, or a call without its rows, is an error.
func Writes(ctx context.Context, o Options, out io.Writer) error {
	w := &writes{bench: &bench{Options: o}, results: map[string][]*writeResult{}}
	defer w.close()
	if err := w.openForWrites(ctx); err != nil {
		return err
	}
	// The client has one of the processors, so that the server has another.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if err := w.warmUp(ctx); err != nil {
		return err
	}
	for round := range o.Rounds {
		fmt.Fprintf(o.Progress, "bench writes: round %d of %d\n", round+1, o.Rounds)
		if err := w.round(ctx, round); err != nil {
			return err
		}
	}
	return w.report(out)
}

// CheckWrites returns an error for a name that is no operation of [Writes].
func CheckWrites(only []string) error {
	var names []string
	for _, m := range (&writes{}).mutations() {
		names = append(names, m.name)
	}
	for _, name := range only {
		if !slices.Contains(names, name) {
			return fmt.Errorf("unknown operation %q (want one of %s)", name, strings.Join(names, ", "))
		}
	}
	return nil
}

// chosen are the mutations that are measured.
func (w *writes) chosen() []*mutation {
	return slices.DeleteFunc(w.mutations(), func(m *mutation) bool {
		return len(w.Only) > 0 && !slices.Contains(w.Only, m.name)
	})
}

// openForWrites starts stores, seeds a town, copies it for pgbench, and starts a server.
func (w *writes) openForWrites(ctx context.Context) error {
	if err := w.startStores(ctx, "-c", "wal_level=logical"); err != nil { // the server reads the log, as in production
		return err
	}
	if err := w.seed(); err != nil {
		return err
	}
	if err := w.settleAndCopy(ctx); err != nil {
		return err
	}
	if err := w.openStores(); err != nil {
		return err
	}
	var err error
	if w.server, err = w.startBy(ctx, w.writeServer); err != nil {
		return err
	}
	if err := w.readTown(ctx); err != nil {
		return err
	}
	if w.ids, err = w.readRanges(ctx, manyNotes); err != nil {
		return err
	}
	if w.bare, err = testbed.Start(ctx, func() *exec.Cmd { return w.Command("serve") }, testbed.Setting{Bare: orderBytes}); err != nil {
		return err
	}
	w.closers = append(w.closers, w.bare.Kill)
	return w.measureIdle(ctx)
}

// orderBytes is the size of an answer of orderVoucher.
const orderBytes = 130

// settleAndCopy copies the settled town. No connection to it stays open.
func (w *writes) settleAndCopy(ctx context.Context) error {
	db, err := sqldb.OpenSQL(sqldb.SQLConfig{URL: w.DatabaseURL})
	if err != nil {
		return err
	}
	if err := errors.Join(testbed.Settle(ctx, db), db.Close()); err != nil {
		return err
	}
	if err := copyTown(ctx, w.DatabaseURL, w.Rounds); err != nil {
		return err
	}
	if db, err = sqldb.OpenSQL(sqldb.SQLConfig{URL: w.DatabaseURL}); err != nil {
		return err
	}
	return errors.Join(testbed.Settle(ctx, db), db.Close()) // the copies are on the disk then
}

// writeServer returns the command of the server. It logs to /dev/null, at the default
// level. An order waits for its commit, however long that takes.
func (w *writes) writeServer() *exec.Cmd {
	return w.command("serve", append(withoutArguments(w.Without), "--order-wait", "10s")...)
}

// measureIdle measures the cost of a server without load.
func (w *writes) measureIdle(ctx context.Context) error {
	before, err := w.costs(ctx, w.server)
	if err != nil {
		return err
	}
	begin := time.Now()
	if err := pause(ctx, 2*time.Second); err != nil {
		return err
	}
	after, err := w.costs(ctx, w.server)
	if err != nil {
		return err
	}
	w.idle = after.since(before).times(1 / time.Since(begin).Seconds())
	return nil
}

// times multiplies the times of a cost.
func (c cost) times(by float64) cost {
	scaled := func(d time.Duration) time.Duration { return time.Duration(float64(d) * by) }
	return cost{scaled(c.server), c.mallocs * by, testbed.StoresCPU{Redis: scaled(c.stores.Redis), Postgres: scaled(c.stores.Postgres)}}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// warmUp runs each load once for a short time, so that statements are prepared and caches
// and pools are filled.
func (w *writes) warmUp(ctx context.Context) error {
	if w.Warm <= 0 {
		return nil
	}
	fmt.Fprintln(w.Progress, "bench writes: warming up")
	for _, m := range w.chosen() {
		if _, err := w.load(ctx, m, warmRound, w.Warm); err != nil {
			return err
		}
	}
	return nil
}

// round runs pgbench, then each mutation.
func (w *writes) round(ctx context.Context, round int) error {
	many, err := w.roundOfPgbench(ctx, round, w.Connections)
	if err != nil {
		return err
	}
	one, err := w.roundOfPgbench(ctx, round, 1)
	if err != nil {
		return err
	}
	w.pgbenchMany, w.pgbenchOne = append(w.pgbenchMany, many), append(w.pgbenchOne, one)
	if err := w.dropCopy(ctx, round); err != nil {
		return err
	}
	for _, m := range w.chosen() {
		r, err := w.load(ctx, m, round, w.Dur)
		if err != nil {
			return err
		}
		switch {
		case m.bare:
			r.ratio = r.rate / w.bareRates[len(w.bareRates)-1]
		case m.goal.p50 > 0:
			r.ratio = r.p50.Seconds() / one.p50.Seconds()
		default:
			r.ratio = r.rate / many.rate
		}
		w.results[m.name] = append(w.results[m.name], r)
		fmt.Fprintf(w.Progress, "  %s: %.0f/s, %.3f × %s; server %.2f ms, PostgreSQL %.2f ms\n", m.name, r.rate, r.ratio, m.ratioTo(), r.server, r.postgres)
	}
	return nil
}

func (w *writes) roundOfPgbench(ctx context.Context, round, connections int) (*writeResult, error) {
	got, err := w.pgbench(ctx, w.ids, round, connections)
	if err != nil {
		return nil, err
	}
	r := &writeResult{
		rate: float64(got.likes) / got.all.Seconds(), ratio: 1, p50: got.took.Percentile(50), p99: got.took.Percentile(99),
		postgres: millis(got.cpu, got.likes), client: got.client, others: got.others,
	}
	fmt.Fprintf(w.Progress, "  pgbench -c %d: %.0f/s; PostgreSQL %.3f ms\n", connections, r.rate, r.postgres)
	return r, nil
}

func millis(d time.Duration, n int) float64 { return micros(d, n) / 1000 }

// load runs one load of a mutation and checks the rows that it wrote.
func (w *writes) load(ctx context.Context, m *mutation, round int, dur time.Duration) (*writeResult, error) {
	requests, err := m.requests(ctx, round)
	if err != nil {
		return nil, fmt.Errorf("%s: prepare requests: %w", m.name, err)
	}
	if m.bare {
		rate, err := w.loadBare(ctx, requests, dur)
		if err != nil {
			return nil, err
		}
		if round != warmRound {
			w.bareRates = append(w.bareRates, rate)
		}
	} else if err := w.warmSessions(ctx, w.server, w.callers(m)); err != nil { // orders have greeted
		return nil, err
	}
	if _, err := w.rest(ctx); err != nil {
		return nil, err
	}
	before, err := w.written(ctx)
	if err != nil {
		return nil, err
	}
	r, calls, err := w.measureWrites(ctx, m, requests, round, dur)
	if err != nil {
		return nil, err
	}
	after, err := w.written(ctx)
	if err != nil {
		return nil, err
	}
	if m.called != nil {
		m.called(calls)
	}
	return r, m.checkWritten(before, after, calls)
}

// callers returns the people that a load may call by. Their sessions are in the server's
// memory when the load begins, because people look around before they write.
func (w *writes) callers(m *mutation) []person {
	if m.called != nil {
		return w.customers()[w.checkedIn:]
	}
	return w.customers()
}

// loadBare measures a bare handler with the same requests, in calls a second.
func (w *writes) loadBare(ctx context.Context, requests []request, dur time.Duration) (float64, error) {
	o := load{w.bare.Addr, w.Connections, bareRequests(requests)}.closed(ctx, dur, true)
	if o.wrong > 0 || o.n == 0 {
		return 0, fmt.Errorf("the bare handler: %d of %d answers are wrong: %s", o.wrong, o.n+o.wrong, o.example)
	}
	return o.rate(), nil
}

// measureWrites sends the requests and waits until the work that they left is done.
func (w *writes) measureWrites(ctx context.Context, m *mutation, requests []request, round int, dur time.Duration) (r *writeResult, calls int, err error) {
	connections := w.Connections
	if m.connections > 0 {
		connections = m.connections
	}
	profiled, err := w.profile(ctx, w.server, m.name, round)
	if err != nil {
		return nil, 0, err
	}
	runtime.GC()
	begin, err := w.allCosts(ctx)
	if err != nil {
		return nil, 0, err
	}
	got := load{w.server.addr(), connections, requests}.closed(ctx, dur, false)
	end, err := w.allCosts(ctx)
	if err := errors.Join(err, profiled(), ctx.Err()); err != nil {
		return nil, 0, err
	}
	if got.wrong > 0 || got.n == 0 {
		return nil, 0, fmt.Errorf("%s: %d of %d answers are wrong: %s", m.name, got.wrong, got.n+got.wrong, got.example)
	}
	rested, err := w.rest(ctx)
	if err != nil {
		return nil, 0, err
	}
	last, err := w.costs(ctx, w.server)
	if err != nil {
		return nil, 0, err
	}
	used, later, idle := end.since(begin.cost), last.since(end.cost), w.idle.times(rested.Seconds())
	client := end.client - begin.client
	return &writeResult{
		rate: got.rate(), p50: got.took.Percentile(50), p99: got.took.Percentile(99),
		server: millis(used.server, got.n), postgres: millis(used.stores.Postgres, got.n), redis: millis(used.stores.Redis, got.n),
		client:        millis(client, got.n),
		others:        (end.machine - begin.machine - used.server - used.stores.Postgres - used.stores.Redis - client).Seconds() / got.all.Seconds(),
		laterServer:   millis(max(0, later.server-idle.server), got.n),
		laterPostgres: millis(max(0, later.stores.Postgres-idle.stores.Postgres), got.n),
	}, got.n, nil
}

// allCost is a cost with the CPU time of the client and of the whole machine.
type allCost struct {
	cost
	client, machine time.Duration
}

func (w *writes) allCosts(ctx context.Context) (c allCost, err error) {
	if c.cost, err = w.costs(ctx, w.server); err != nil {
		return c, err
	}
	c.machine = testbed.MachineCPU()
	c.client, err = harness.CPUTime()
	return c, err
}

// The time after a load.
const (
	minRest      = 500 * time.Millisecond
	restInterval = 100 * time.Millisecond
	restPatience = 20 * time.Second
)

// rest waits until the outbox is empty, and a little longer. It returns how long it waited.
func (w *writes) rest(ctx context.Context) (time.Duration, error) {
	begin := time.Now()
	for {
		var waiting int
		if err := w.db.QueryRowContext(ctx, statement("waiting")).Scan(&waiting); err != nil {
			return 0, fmt.Errorf("count outbox jobs: %w", err)
		}
		if waited := time.Since(begin); waiting == 0 && waited >= minRest {
			return waited, nil
		} else if waited > restPatience {
			return 0, fmt.Errorf("%d outbox jobs were not done within %v", waiting, restPatience)
		}
		if err := pause(ctx, restInterval); err != nil {
			return 0, err
		}
	}
}

// report prints the table.
func (w *writes) report(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "operation\ta second\tratio\tfrom\tto\tof\tp50 ms\tp99 ms\tserver ms\tPostgres ms\tRedis ms\tclient ms\tlater ms\tothers\tgoal: ratio, server, Postgres\tmet\t")
	for _, m := range w.chosen() {
		rounds := w.results[m.name]
		r := medianBy(rounds, func(r *writeResult) float64 { return r.ratio })
		low, high := rounds[0].ratio, rounds[0].ratio
		for _, other := range rounds {
			low, high = min(low, other.ratio), max(high, other.ratio)
		}
		goal, met := m.verdict(r)
		_, _ = fmt.Fprintf(table, "%s\t%.0f\t%.3f\t%.3f\t%.3f\t%s\t%.2f\t%.2f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f + %.3f\t%.2f\t%s\t%s\t\n", m.name, r.rate, r.ratio, low, high, m.ratioTo(),
			harness.Millis(r.p50), harness.Millis(r.p99), r.server, r.postgres, r.redis, r.client, r.laterServer, r.laterPostgres, r.others, goal, met)
	}
	for _, p := range []struct {
		connections int
		rounds      []*writeResult
	}{{w.Connections, w.pgbenchMany}, {1, w.pgbenchOne}} {
		r := medianBy(p.rounds, func(r *writeResult) float64 { return r.rate })
		_, _ = fmt.Fprintf(table, "pgbench -c %d\t%.0f\t\t\t\t\t%.2f\t%.2f\t\t%.3f\t\t%.3f\t\t%.2f\t\t\t\n", p.connections, r.rate, harness.Millis(r.p50), harness.Millis(r.p99), r.postgres, r.client, r.others)
	}
	if len(w.bareRates) > 0 {
		_, _ = fmt.Fprintf(table, "bare POST\t%.0f\t\t\t\t\t\t\t\t\t\t\t\t\t\t\n", median(w.bareRates))
	}
	return table.Flush()
}
