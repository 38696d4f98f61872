package cache

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/mgtv-tech/jetcache-go/logger"
	"github.com/redis/go-redis/v9"
)

// Plan configures [Report].
type Plan struct {
	URL    string        // of one Redis
	During time.Duration // of each scheme in the tables of stale reads and of the hot key
	Seed   uint64        // of the random choices
	Only   []string      // names of [Tables]; empty for all
	Scheme string        // measure only variants whose names contain it, and their baselines
}

// Tables returns the names of the tables of [Report].
func Tables() []string { return []string{"anomalies", "stale", "hot", "hit", "local"} }

// Report runs the planned measurements and writes a table of each to out. Its keys have a random
// prefix; it removes them afterwards.
func Report(ctx context.Context, p Plan, out io.Writer) error {
	rdb, err := client(p.URL)
	if err != nil {
		return err
	}
	defer func() { _ = rdb.Close() }()
	if err := rdb.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("ping Redis: %w", err)
	}
	r := &report{Plan: p, out: out, prefix: "bench-" + strings.ToLower(rand.Text()) + ":"}
	defer sweep(context.WithoutCancel(ctx), rdb, r.prefix)
	for _, t := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"anomalies", r.anomalies}, {"stale", r.stale}, {"hot", r.hot}, {"hit", r.hit}, {"local", r.local},
	} {
		if len(p.Only) > 0 && !slices.Contains(p.Only, t.name) {
			continue
		}
		if err := t.run(ctx); err != nil {
			return fmt.Errorf("table %s: %w", t.name, err)
		}
	}
	return nil
}

// sweep removes the keys of a run. Missed keys expire, except marks of schemes without a TTL.
func sweep(ctx context.Context, rdb *redis.Client, prefix string) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	it := rdb.Scan(ctx, 0, prefix+"*", 500).Iterator()
	for it.Next(ctx) {
		rdb.Unlink(ctx, it.Val())
	}
}

// Hush silences the logs of libraries, such as warnings about short TTLs. It changes the whole
// process: call it first in a main function.
func Hush() {
	log.SetOutput(io.Discard)
	redis.SetLogger(hushed{})
	logger.SetLevel(logger.LevelError)
}

type hushed struct{}

func (hushed) Printf(context.Context, string, ...any) {}

type report struct {
	Plan
	out    io.Writer
	prefix string
	used   int
}

// space returns an unused prefix.
func (r *report) space() string {
	r.used++
	return fmt.Sprintf("%s%d:", r.prefix, r.used)
}

// variants returns the variants of one table.
func (r *report) variants(belongs func(Variant) bool) []Variant {
	return slices.DeleteFunc(Variants(), func(v Variant) bool {
		return !belongs(v) || !strings.Contains(v.Name, r.Scheme)
	})
}

func shared(v Variant) bool { return !v.Local }

// table prints a heading and rows with aligned columns.
func (r *report) table(heading, columns string, rows func(row func(cells ...any)) error) error {
	_, _ = fmt.Fprintf(r.out, "%s\n\n", heading)
	t := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, strings.ReplaceAll(columns, "|", "\t"))
	err := rows(func(cells ...any) {
		for i, c := range cells {
			if i > 0 {
				_, _ = fmt.Fprint(t, "\t")
			}
			_, _ = fmt.Fprint(t, c)
		}
		_, _ = fmt.Fprintln(t)
	})
	_ = t.Flush()
	_, _ = fmt.Fprintln(r.out)
	return err
}

func (r *report) anomalies(ctx context.Context) error {
	all := Anomalies()
	columns := []string{"scheme"}
	for _, a := range all {
		columns = append(columns, a.ID)
	}
	var notes []string
	err := r.table("Anomalies: one interleaving each, forced step by step (– : does not arise)", strings.Join(columns, "|"), func(row func(...any)) error {
		for _, v := range r.variants(func(v Variant) bool { return !v.Local || v.Single }) {
			cells := []any{v.Name}
			for _, a := range all {
				verdict, err := Try(ctx, a, v, r.URL, r.space())
				if err != nil {
					return err
				}
				cells = append(cells, verdict)
				if !verdict.Passes && !verdict.None {
					notes = append(notes, fmt.Sprintf("%s, %s: %s", v.Name, a.ID, strings.ReplaceAll(verdict.Why, "\n", "; ")))
				}
			}
			row(cells...)
		}
		return nil
	})
	for _, a := range all {
		_, _ = fmt.Fprintf(r.out, "%-4s %s\n", a.ID, a.Name)
	}
	_, _ = fmt.Fprintf(r.out, "\n%s\n\n", strings.Join(notes, "\n"))
	return err
}

// rounds is the number of turns of each variant of a table.
const rounds = 2

// stale runs each variant in two turns.
func (r *report) stale(ctx context.Context) error {
	heading := fmt.Sprintf("Stale reads: %d processes of %d readers and %d writer, %d rows, load and commit 0 to %v, %v each, seed %d",
		raceInstances, raceReaders, raceWriters, raceKeys, raceTime, r.During, r.Seed)
	vs := r.variants(shared)
	sums := make([]RaceResult, len(vs))
	for round := range rounds {
		for i, v := range vs {
			got, err := Race(ctx, v, r.URL, r.space(), r.During/rounds, r.Seed+uint64(round))
			if err != nil {
				return err
			}
			sums[i] = sums[i].plus(got)
		}
	}
	err := r.table(heading, "scheme|reads|writes|loads|stale|%|worst age|absent|errors", func(row func(...any)) error {
		for i, v := range vs {
			s := sums[i]
			worst := "–"
			if s.Stale > 0 {
				worst = millis(s.Worst)
			}
			row(v.Name, s.Reads, s.Writes, s.Loads, s.Stale, fmt.Sprintf("%.2f", 100*float64(s.Stale)/float64(max(s.Reads, 1))), worst, s.Absent, s.Errors)
		}
		return nil
	})
	for i, s := range sums {
		if s.FirstError != nil {
			_, _ = fmt.Fprintf(r.out, "%s, first error: %v\n", vs[i].Name, s.FirstError)
		}
	}
	return err
}

func (a RaceResult) plus(b RaceResult) RaceResult {
	a.Reads += b.Reads
	a.Writes += b.Writes
	a.Loads += b.Loads
	a.Stale += b.Stale
	a.Absent += b.Absent
	a.Slow += b.Slow
	a.Errors += b.Errors
	a.Worst = max(a.Worst, b.Worst)
	if a.FirstError == nil {
		a.FirstError = b.FirstError
	}
	return a
}

func (r *report) hot(ctx context.Context) error {
	heading := fmt.Sprintf("A hot key: %d processes of %d readers, a TTL of %v, a load of %v, %v each",
		hotInstances, hotReaders, hotTTL, hotLoad, r.During)
	return r.table(heading, "scheme|expiries|loads per expiry|blocked per expiry|p99.9|reads", func(row func(...any)) error {
		for _, v := range r.variants(shared) {
			got, err := Hot(ctx, v, r.URL, r.space(), r.During)
			if err != nil {
				return err
			}
			each := float64(max(got.Expiries, 1))
			row(v.Name, got.Expiries, fmt.Sprintf("%.1f", float64(got.Loads)/each),
				fmt.Sprintf("%.1f", float64(got.Blocked)/each), millis(got.P999), got.Reads)
		}
		return nil
	})
}

// turn is the duration of a variant's turn in each round of the cost tables.
const turn = 50 * time.Millisecond

func (r *report) hit(ctx context.Context) error {
	vs := r.variants(func(v Variant) bool { return shared(v) && v.Name != rueidisAsideName })
	// Variants that differ only in writes read in the same way.
	vs = slices.DeleteFunc(vs, func(v Variant) bool {
		return slices.ContainsFunc(schemes(), func(s Variant) bool { return s.Name == v.Name }) && v.Name != "cache-aside" &&
			!strings.HasPrefix(v.Name, "pure") && !strings.HasPrefix(v.Name, "set under")
	})
	got, err := Hit(ctx, vs, r.URL, r.space(), turn)
	if err != nil {
		return err
	}
	return r.costs(fmt.Sprintf("A hit in Redis: %d goroutines, %d bytes, %d interleaved rounds; × is the time relative to a bare GET of the same round",
		costReaders, costBytes, costRounds), got)
}

func (r *report) local(ctx context.Context) error {
	// rueidisaside caches rows locally until Redis invalidates them.
	vs := r.variants(func(v Variant) bool { return v.Local && v.Name != otterAlone || v.Name == rueidisAsideName })
	otter := Variant{Name: otterAlone, Single: true, Local: true, New: newOtter}
	got, err := Local(ctx, append([]Variant{otter}, vs...), r.URL, r.space(), turn)
	if err != nil {
		return err
	}
	return r.costs(fmt.Sprintf("A hit in the process: %d goroutines, %d bytes, %d interleaved rounds; × is the time relative to otter alone in the same round",
		costReaders, costBytes, costRounds), got)
}

func (r *report) costs(heading string, results []CostResult) error {
	return r.table(heading, "scheme|hits/s|×|one goroutine|allocations|bytes", func(row func(...any)) error {
		for _, c := range results {
			row(c.Name, fmt.Sprintf("%.0f", c.PerSec), fmt.Sprintf("%.2f", c.Ratio), fmt.Sprintf("%.0f ns", c.Nanos),
				fmt.Sprintf("%.0f", c.Allocs), fmt.Sprintf("%.0f", c.AllocBy))
		}
		return nil
	})
}

func millis(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }
