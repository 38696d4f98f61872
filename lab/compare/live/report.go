package live

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Plan configures [Report].
type Plan struct {
	Redis, Database string        // URLs of private servers; the database is empty
	Self            string        // command of this program, which runs [Process]
	Ours            []string      // command that runs livebench.Process for Tandian; empty omits Tandian
	Pin             bool          // run the server on one CPU and everything else on another
	Rounds          int           // turns per contender
	Each            time.Duration // of a load
	Subscribers     []int         // of the tables; memory has the last number
	Stall           time.Duration // limit of the wait for a socket that never reads
	Only            []string      // names of [Tables]; empty for all
	Progress        io.Writer
}

// Tables returns the names of the tables of [Report]. The table committed needs Tandian.
func Tables() []string { return []string{"fanout", "committed", "rate", "memory", "stalled"} }

// Report runs the planned measurements and writes a table of each to out. It returns an error if a
// subscriber missed an item or received it twice.
func Report(ctx context.Context, p Plan, out io.Writer) error {
	l, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer l.close()
	r := &report{lab: l, out: out}
	for i, table := range []func(context.Context) error{r.fanOut, r.committed, r.rate, r.memory, r.stalled} {
		if name := Tables()[i]; len(p.Only) == 0 || slices.Contains(p.Only, name) {
			if err := table(ctx); err != nil {
				return fmt.Errorf("table %s: %w", name, err)
			}
		}
	}
	if len(r.goals) > 0 {
		r.table("Goals of "+oursName+", of medians", "|measured|goal|met", r.goals)
	}
	return nil
}

type report struct {
	*lab
	out   io.Writer
	goals [][]string
}

// Absolute goals of Tandian, on any machine; the other goals are ratios of one run.
const (
	perGiB      = 80_000 // connections that wait
	perFollower = 5.0    // additional KB of a user with many follows
	goneWithin  = 10.0   // seconds from full buffers to the disconnection of a client that never reads
)

// atLeast and atMost record the result of a goal, if Tandian takes part.
func (r *report) atLeast(what string, is, goal float64) {
	r.goal(what, is, "≥", goal, is >= goal)
}

func (r *report) atMost(what string, is, goal float64) {
	r.goal(what, is, "≤", goal, is <= goal)
}

func (r *report) goal(what string, is float64, sign string, goal float64, met bool) {
	if math.IsNaN(is) {
		return
	}
	verdict := "NO"
	if met {
		verdict = "yes"
	}
	r.goals = append(r.goals, []string{what, fmt.Sprintf("%.2f", is), fmt.Sprintf("%s %g", sign, goal), verdict})
}

// table prints a heading and rows with aligned columns.
func (r *report) table(heading, columns string, rows [][]string) {
	_, _ = fmt.Fprintf(r.out, "%s\n\n", heading)
	t := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, strings.ReplaceAll(columns, "|", "\t"))
	for _, cells := range rows {
		_, _ = fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	_ = t.Flush()
	_, _ = fmt.Fprintln(r.out)
}

func (r *report) how() string {
	pinned := "nothing pinned"
	if r.Pin {
		pinned = "the server on one CPU, everything else on another"
	}
	return fmt.Sprintf("the median of %d rounds in turns (minimum to maximum); %s", r.Rounds, pinned)
}

func (r *report) fanOut(ctx context.Context) error {
	for _, n := range r.Subscribers {
		all, err := r.lab.fanOut(ctx, "fan-out", n)
		if err != nil {
			return err
		}
		for i, k := range inFlight() {
			what := fmt.Sprintf("fan-out to %d, %d in flight", n, k)
			rate, cpu, _ := r.loads(fmt.Sprintf("Fan-out to %d subscribers, %d items in flight; %s", n, k, r.how()), all[i])
			r.atLeast(what+": deliveries/s ÷ centrifuge", middle(rate.ratios(oursName, centrifugeName)), 1)
			r.atLeast(what+": deliveries/s ÷ centrifuge with recovery", middle(rate.ratios(oursName, recoveryName)), 1.3)
			r.atMost(what+": CPU ÷ centrifuge", middle(cpu.ratios(oursName, centrifugeName)), 1)
			r.atMost(what+": CPU ÷ gqlgen", middle(cpu.ratios(oursName, gqlgenName)), 0.25)
		}
	}
	return nil
}

// committed is the fan-out of items that are stored as notes first, for all contenders: so all
// figures include the cost of a commit, which the table fanout includes for Tandian only. The
// others publish after the response of Tandian's author, which has invalidated the caches of the
// note by then. Tandian's server is notified before that, right after the commit.
func (r *report) committed(ctx context.Context) error {
	if len(r.Ours) == 0 {
		_, _ = fmt.Fprintln(r.Progress, "live: table committed skipped: it needs Tandian to store notes")
		return nil
	}
	defer r.endCommitters()
	if err := r.startCommitters(ctx); err != nil {
		return err
	}
	for _, n := range r.Subscribers {
		all, err := r.lab.fanOut(ctx, "committed", n)
		if err != nil {
			return err
		}
		for i, k := range inFlight() {
			what := fmt.Sprintf("committed, to %d, %d in flight", n, k)
			rate, cpu, p99 := r.loads(fmt.Sprintf("Fan-out to %d subscribers, %d items in flight, each a note that Tandian commits first; %s", n, k, r.how()), all[i])
			r.atLeast(what+": deliveries/s ÷ centrifuge", middle(rate.ratios(oursName, centrifugeName)), 1)
			r.atMost(what+": p99 ÷ centrifuge", middle(p99.ratios(oursName, centrifugeName)), 1)
			r.atMost(what+": CPU ÷ centrifuge", middle(cpu.ratios(oursName, centrifugeName)), 1)
		}
	}
	return nil
}

func (r *report) rate(ctx context.Context) error {
	for _, n := range r.Subscribers {
		all, err := r.paced(ctx, n)
		if err != nil {
			return err
		}
		what := fmt.Sprintf("%d/s to %d", fixedRate, n)
		_, cpu, p99 := r.loads(fmt.Sprintf("%d deliveries a second to %d subscribers; %s", fixedRate, n, r.how()), all)
		r.atMost(what+": CPU ÷ centrifuge", middle(cpu.ratios(oursName, centrifugeName)), 1)
		r.atMost(what+": p99 ÷ centrifuge", middle(p99.ratios(oursName, centrifugeName)), 1)
	}
	return nil
}

// loads prints one load.
func (r *report) loads(heading string, all series[Load]) (rate, cpu, p99 figure) {
	rate = column(all, func(f Load) float64 { return f.Rate })
	cpu = column(all, func(f Load) float64 { return micros(f.CPU) })
	p50 := column(all, func(f Load) float64 { return millis(f.P50) })
	p99 = column(all, func(f Load) float64 { return millis(f.P99) })
	crowd := column(all, func(f Load) float64 { return micros(f.Crowd) })
	var rows [][]string
	for _, name := range r.names() {
		rows = append(rows, []string{
			name, rate.cell(name, "%.0f"), rate.ratio(name), cpu.cell(name, "%.2f"), cpu.ratio(name),
			p50.cell(name, "%.1f"), p99.cell(name, "%.1f"), p99.ratio(name), crowd.cell(name, "%.2f"),
		})
	}
	r.table(heading, "|deliveries/s|÷ centrifuge|CPU µs each|÷ centrifuge|p50 ms|p99 ms|÷ centrifuge|the client's own CPU µs", rows)
	return rate, cpu, p99
}

func (r *report) names() []string {
	names := make([]string, len(r.contenders))
	for i, c := range r.contenders {
		names[i] = c.name
	}
	return names
}

func (r *report) memory(ctx context.Context) error {
	n := r.Subscribers[len(r.Subscribers)-1]
	all, err := r.holding(ctx, n)
	if err != nil {
		return err
	}
	rss := column(all, func(h Holding) float64 { return h.RSS / 1024 })
	heap := column(all, func(h Holding) float64 { return h.Heap / 1024 })
	stacks := column(all, func(h Holding) float64 { return h.Stacks / 1024 })
	gib := column(all, func(h Holding) float64 { return (1 << 30) / max(h.RSS, 1) })
	goroutines := column(all, func(h Holding) float64 { return h.Goroutines })
	names := r.names()
	if _, ok := all[heavyName]; ok {
		names = slices.Insert(names, 1, heavyName)
	}
	var rows [][]string
	for _, name := range names {
		rows = append(rows, []string{name, rss.cell(name, "%.1f"), heap.cell(name, "%.1f"), stacks.cell(name, "%.1f"), gib.cell(name, "%.0f"), gib.ratio(name), goroutines.cell(name, "%.2f")})
	}
	r.table(fmt.Sprintf("An idle subscribed connection, of %d; memory after a collection, without that of the kernel; %s", n, r.how()),
		"|KB|heap KB|stacks KB|connections per GiB|÷ centrifuge|goroutines", rows)
	r.atLeast("connections per GiB", middle(gib[oursName]), perGiB)
	r.atLeast("connections per GiB ÷ centrifuge", middle(gib.ratios(oursName, centrifugeName)), 1.5)
	r.atMost(fmt.Sprintf("additional KB of a user with %d follows", heavy), middle(rss[heavyName])-middle(rss[oursName]), perFollower)
	r.atMost("goroutines of a connection", middle(goroutines[oursName]), 1.05)
	return nil
}

func (r *report) stalled(ctx context.Context) error {
	all, err := r.stalls(ctx)
	if err != nil {
		return err
	}
	gone := column(all, func(f Stall) float64 {
		if f.Never {
			return r.Stall.Seconds() // at least
		}
		return f.Gone.Seconds()
	})
	blocked := column(all, func(f Stall) float64 {
		if f.Never {
			return r.Stall.Seconds()
		}
		return f.Blocked.Seconds()
	})
	alone := column(all, func(f Stall) float64 { return millis(f.Alone) })
	disturbed := column(all, func(f Stall) float64 { return millis(f.Disturbed) })
	ratio := column(all, func(f Stall) float64 { return float64(f.Disturbed) / float64(max(f.Alone, 1)) })
	var rows [][]string
	for _, name := range r.names() {
		never := 0
		for _, f := range all[name] {
			if f.Never {
				never++
			}
		}
		cells := []string{name, gone.cell(name, "%.1f"), blocked.cell(name, "%.1f")}
		if never > 0 {
			cells = []string{name, fmt.Sprintf("never in %v, %d of %d", r.Stall, never, len(all[name])), ""}
		}
		rows = append(rows, append(cells, alone.cell(name, "%.1f"), disturbed.cell(name, "%.1f"), ratio.cell(name, "%.2f")))
	}
	r.table(fmt.Sprintf("One client that never reads, next to %d that do; items of %d KB, 4 in flight; %s", stallCrowd, large/1000, r.how()),
		"|s until its connection is closed|of that with full buffers|p99 ms of the others without it|with it|ratio", rows)
	r.atMost("s from full buffers to the disconnection of a client that never reads", middle(blocked[oursName]), goneWithin)
	r.atMost("p99 of the others, ÷ without it", middle(ratio[oursName]), 1.1)
	return nil
}

// A figure returns a value of each round, by contender.
type figure map[string][]float64

func column[F any](all series[F], of func(F) float64) figure {
	c := figure{}
	for name, rounds := range all {
		for _, f := range rounds {
			c[name] = append(c[name], of(f))
		}
	}
	return c
}

// cell prints the median of a contender, with its minimum and maximum.
func (c figure) cell(name, format string) string {
	return spread(c[name], format)
}

// ratio prints the ratio to centrifuge.
func (c figure) ratio(name string) string { return spread(c.ratios(name, centrifugeName), "%.2f") }

// ratios returns the ratios of two contenders, round by round.
func (c figure) ratios(name, base string) []float64 {
	var ratios []float64
	for i := range min(len(c[base]), len(c[name])) {
		ratios = append(ratios, c[name][i]/c[base][i])
	}
	return ratios
}

func spread(values []float64, format string) string {
	if len(values) == 0 {
		return "-"
	}
	median := fmt.Sprintf(format, middle(values))
	if len(values) == 1 {
		return median
	}
	return fmt.Sprintf("%s ("+format+"–"+format+")", median, slices.Min(values), slices.Max(values))
}

// middle returns the median; NaN if there are no values.
func middle(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

func millis(d time.Duration) float64 { return micros(d) / 1e3 }
