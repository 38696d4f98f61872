// Package servebench measures the whole GraphQL server, with sessions, limits and metrics. It
// reports responses per second relative to a bare net/http handler with the same requests and
// response sizes in the same rounds. It also reports the cost of a request in the server, Redis and
// PostgreSQL.
package servebench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tandian-dev/tandian/lab/harness"
	"github.com/tandian-dev/tandian/lab/testbed"
)

// Options configures a measurement.
type Options struct {
	// Command starts a process of this program: serve, or tandian with its command line.
	// Required without At.
	Command func(args ...string) *exec.Cmd

	// At is the URL of a running server; "" starts one. With At, Tokens is the file that tandian
	// seed wrote for that server, and the URLs are those of its stores, if known.
	At, Tokens            string
	DatabaseURL, RedisURL string

	Town testbed.Town // generated data, without At

	Only        []string // names of works; empty is all
	Connections int
	Rounds      int
	Dur         time.Duration // of each load of a round
	Warm        time.Duration // of each load of [Writes] before the first round; 0 is none
	Tail        time.Duration // of the open load at half of the rate; 0 is none
	Without     []string      // optimizations to disable, as in --without
	Profiles    string        // folder for server profiles; "" is none
	Dir         string        // for temporary files
	Progress    io.Writer
}

// A figure holds the measurements of one work.
type figure struct {
	work                 *work
	bytes                int // of an answer
	rate, share          []float64
	bare, bareCPU        []float64
	p50, p99             []time.Duration
	cpu, redis, postgres []float64 // microseconds of a request
	mallocs              []float64 // of a request
	wrong                int
	example              string
	discarded            int // rounds in which the bare handler fell below half of its best
	tail, bareTail       *outcomes
	tailRate             float64
}

// Run measures the works and prints a table.
func Run(ctx context.Context, o Options, out io.Writer) error {
	figures, ceiling, err := run(ctx, o)
	if len(figures) > 0 {
		err = errors.Join(err, report(out, figures, ceiling))
	}
	return err
}

// run measures the selected works. With an error it returns the figures of the works before
// the failed one.
func run(ctx context.Context, o Options) (figures []*figure, ceiling []harness.Row, err error) {
	b := &bench{Options: o}
	defer b.close()
	if err := b.open(ctx); err != nil {
		return nil, nil, err
	}
	if b.rdb != nil {
		if ceiling, err = testbed.RedisCeiling(ctx, b.rdb, "bench", min(o.Dur, time.Second)); err != nil {
			return nil, nil, fmt.Errorf("measure bare Redis: %w", err)
		}
	}
	// The client has one of the processors, so that the server has another.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, w := range b.works() {
		if len(o.Only) > 0 && !slices.Contains(o.Only, w.name) {
			continue
		}
		if why := w.unmeasured(b); why != "" {
			fmt.Fprintf(o.Progress, "bench serve: %s is not measured: %s\n", w.name, why)
			continue
		}
		fmt.Fprintf(o.Progress, "bench serve: %s\n", w.name)
		f, err := b.measure(ctx, w)
		if err != nil {
			return figures, ceiling, fmt.Errorf("measure %s: %w", w.name, err)
		}
		figures = append(figures, f)
	}
	return figures, ceiling, nil
}

// measure measures a work and its baseline in rounds.
func (b *bench) measure(ctx context.Context, w *work) (*figure, error) {
	f := &figure{work: w}
	s, err := b.serverFor(ctx, w)
	if err != nil {
		return nil, err
	}
	requests, err := w.requests(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("prepare requests: %w", err)
	}
	f.bytes = requests[0].all
	if w.bytes > 0 {
		f.bytes = w.bytes
	}
	bare, err := b.startBaseline(ctx, w, f.bytes)
	if err != nil {
		return nil, err
	}
	defer bare.Kill()
	least := load{bare.Addr, b.Connections, bareRequests(requests)}
	warm := min(b.Dur, time.Second)
	least.closed(ctx, warm, true)
	if w.repeats {
		load{s.addr(), b.Connections, requests}.closed(ctx, warm, true)
	}
	for round := range b.Rounds {
		if w.fresh && round > 0 {
			s.process.Kill()
			if s, err = b.serverFor(ctx, w); err != nil {
				return nil, err
			}
		}
		if !w.repeats && round > 0 {
			if requests, err = w.requests(ctx, s); err != nil {
				return nil, fmt.Errorf("prepare requests: %w", err)
			}
		}
		if err := b.round(ctx, f, s, bare, least, requests, round); err != nil {
			return nil, err
		}
	}
	f.discard()
	if b.Tail > 0 && !w.fresh {
		if !w.repeats {
			if requests, err = w.requests(ctx, s); err != nil {
				return nil, fmt.Errorf("prepare requests: %w", err)
			}
		}
		f.tailRate = median(f.rate) / 2
		f.tail = load{s.addr(), b.Connections, requests}.open(ctx, b.Tail, f.tailRate, w.repeats)
		f.note(f.tail)
		f.bareTail = least.open(ctx, b.Tail, f.tailRate, true)
	}
	return f, ctx.Err()
}

// startBaseline starts the server that a work is compared with.
func (b *bench) startBaseline(ctx context.Context, w *work, size int) (*testbed.Server, error) {
	if w.baseline == nil {
		return testbed.Start(ctx, func() *exec.Cmd { return b.Command("serve") }, testbed.Setting{Bare: size})
	}
	s, err := b.startBy(ctx, func() *exec.Cmd { return b.command("serve", w.baseline...) })
	if err != nil {
		return nil, err
	}
	return s.process, nil
}

// round loads the bare handler and the server, in an order that alternates by round.
func (b *bench) round(ctx context.Context, f *figure, s *target, bare *testbed.Server, least load, requests []request, round int) error {
	loads := []func() error{
		func() error { return b.loadBare(ctx, f, bare, least) },
		func() error { return b.loadServer(ctx, f, s, load{s.addr(), b.Connections, requests}, round) },
	}
	if round%2 == 1 {
		slices.Reverse(loads)
	}
	for _, load := range loads {
		runtime.GC()
		if err := load(); err != nil {
			return err
		}
	}
	rate, of := f.rate[len(f.rate)-1], f.bare[len(f.bare)-1]
	f.share = append(f.share, rate/of)
	fmt.Fprintf(b.Progress, "  %.0f/s, %.2f of %.0f/s; %.0f µs\n", rate, rate/of, of, f.cpu[len(f.cpu)-1])
	return nil
}

func (b *bench) loadBare(ctx context.Context, f *figure, bare *testbed.Server, least load) error {
	before, err := bare.Ask(ctx, testbed.Question{})
	if err != nil {
		return err
	}
	o := least.closed(ctx, b.Dur, true)
	after, err := bare.Ask(ctx, testbed.Question{})
	if err != nil {
		return err
	}
	if o.wrong > 0 || o.n == 0 {
		return fmt.Errorf("the bare handler: %d of %d answers are wrong: %s", o.wrong, o.n+o.wrong, o.example)
	}
	f.bare, f.bareCPU = append(f.bare, o.rate()), append(f.bareCPU, micros(after.CPU-before.CPU, o.n))
	return nil
}

func (b *bench) loadServer(ctx context.Context, f *figure, s *target, l load, round int) error {
	profiled, err := b.profile(ctx, s, f.work.name, round)
	if err != nil {
		return err
	}
	cost, err := b.costs(ctx, s)
	if err != nil {
		return err
	}
	got := l.closed(ctx, b.Dur, f.work.repeats)
	used, err := b.costs(ctx, s)
	if err != nil {
		return err
	}
	if err := profiled(); err != nil {
		return err
	}
	if got.n == 0 {
		return fmt.Errorf("no correct answer: %s", got.example)
	}
	used = used.since(cost)
	f.rate = append(f.rate, got.rate())
	f.p50, f.p99 = append(f.p50, got.took.Percentile(50)), append(f.p99, got.took.Percentile(99))
	f.cpu, f.mallocs = append(f.cpu, micros(used.server, got.n)), append(f.mallocs, used.mallocs/float64(got.n))
	f.redis, f.postgres = append(f.redis, micros(used.stores.Redis, got.n)), append(f.postgres, micros(used.stores.Postgres, got.n))
	f.note(got)
	return nil
}

func (f *figure) note(o *outcomes) {
	f.wrong += o.wrong
	f.example = cmp.Or(f.example, o.example)
}

// discard removes rounds in which other load disturbed the bare handler.
func (f *figure) discard() {
	best := slices.Max(f.bare)
	for i, bare := range slices.Backward(slices.Clone(f.bare)) {
		if bare >= best/2 || len(f.bare) == 1 {
			continue
		}
		f.discarded++
		for _, list := range []*[]float64{&f.rate, &f.share, &f.bare, &f.bareCPU, &f.cpu, &f.redis, &f.postgres, &f.mallocs} {
			*list = slices.Delete(*list, i, i+1)
		}
		f.p50, f.p99 = slices.Delete(f.p50, i, i+1), slices.Delete(f.p99, i, i+1)
	}
}

// profile starts a profile of the server in the last round if Profiles is set. end ends it.
func (b *bench) profile(ctx context.Context, s *target, name string, round int) (end func() error, err error) {
	if b.Profiles == "" || s.process == nil || round != b.Rounds-1 {
		return func() error { return nil }, nil
	}
	path := filepath.Join(b.Profiles, strings.ReplaceAll(name, " ", "-"))
	if _, err := s.process.Ask(ctx, testbed.Question{CPUProfile: path + ".cpu.pprof"}); err != nil {
		return nil, err
	}
	return func() error {
		if _, err := s.process.Ask(ctx, testbed.Question{Profiled: true}); err != nil {
			return err
		}
		_, err := s.process.Ask(ctx, testbed.Question{AllocProfile: path + ".allocs.pprof"})
		return err
	}, nil
}

// micros returns a time divided by n, in microseconds.
func micros(d time.Duration, n int) float64 {
	return float64(d.Nanoseconds()) / 1000 / float64(max(n, 1))
}

func median(list []float64) float64 { return slices.Sorted(slices.Values(list))[len(list)/2] }

func medianTime(list []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(list))[len(list)/2]
}

// report prints the tables.
func report(out io.Writer, figures []*figure, ceiling []harness.Row) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "work\tbytes\ta second\t÷ bare\tfrom\tto\tp50 ms\tp99 ms\tserver µs\tallocs\tRedis µs\tPostgres µs\tbare µs\tgoal\tmet\twrong\t")
	failed := 0
	for _, f := range figures {
		share := median(f.share)
		goal, met := f.work.verdict(f, figures)
		_, _ = fmt.Fprintf(table, "%s\t%d\t%.0f\t%.3f\t%.3f\t%.3f\t%.2f\t%.2f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%s\t%s\t%d\t\n", f.work.name, f.bytes, median(f.rate), share,
			slices.Min(f.share), slices.Max(f.share), harness.Millis(medianTime(f.p50)), harness.Millis(medianTime(f.p99)),
			median(f.cpu), median(f.mallocs), median(f.redis), median(f.postgres), median(f.bareCPU), goal, met, f.wrong)
		failed += f.wrong
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, r := range ceiling {
		_, _ = fmt.Fprintf(out, "bare Redis: %s: %s\n", r.What, r.Measured)
	}
	for _, f := range figures {
		if f.discarded > 0 {
			_, _ = fmt.Fprintf(out, "%s: %d rounds are left out, in which the bare handler fell below half of its best\n", f.work.name, f.discarded)
		}
	}
	if err := reportTails(out, figures); err != nil {
		return err
	}
	if failed > 0 {
		for _, f := range figures {
			if f.wrong > 0 {
				_, _ = fmt.Fprintf(out, "%s: %.300s\n", f.work.name, f.example)
			}
		}
		return fmt.Errorf("%d answers were wrong", failed)
	}
	return nil
}

func reportTails(out io.Writer, figures []*figure) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	begun := false
	for _, f := range figures {
		if f.tail == nil {
			continue
		}
		if !begun {
			_, _ = fmt.Fprintln(table, "\nat half of the rate\ta second\treached\tp50 ms\tp90 ms\tp99 ms\tlongest ms\tbare p99 ms\t")
			begun = true
		}
		t := f.tail.took
		_, _ = fmt.Fprintf(table, "%s\t%.0f\t%.0f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t\n", f.work.name, f.tailRate, f.tail.rate(),
			harness.Millis(t.Percentile(50)), harness.Millis(t.Percentile(90)), harness.Millis(t.Percentile(99)), harness.Millis(t.Percentile(100)),
			harness.Millis(f.bareTail.took.Percentile(99)))
	}
	return table.Flush()
}
