package live

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Plan says what [Report] measures.
type Plan struct {
	Redis, Database string        // URLs of servers for this alone; the database is empty
	Self            string        // this program, which does as [Process] says if it is one
	Ours            []string      // the command of a Tandian process, as livebench.Process; none leaves Tandian out
	Pin             bool          // the server has a processor for itself, and all else another one
	Rounds          int           // turns of each
	Each            time.Duration // of a load
	Subscribers     []int         // of the tables; memory has the last number
	Stall           time.Duration // how long one is waited for who never reads
	Only            []string      // names of [Tables]; empty for all
	Progress        io.Writer
}

// Tables are what [Report] can print.
func Tables() []string { return []string{"fanout", "rate", "memory", "stalled"} }

// Report measures what the plan says and writes a table of each question to out. An item
// that a subscriber missed or got twice is an error.
func Report(ctx context.Context, p Plan, out io.Writer) error {
	l, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer l.close()
	r := &report{l, out}
	for i, table := range []func(context.Context) error{r.fanOut, r.rate, r.memory, r.stalled} {
		if name := Tables()[i]; len(p.Only) == 0 || slices.Contains(p.Only, name) {
			if err := table(ctx); err != nil {
				return fmt.Errorf("table %s: %w", name, err)
			}
		}
	}
	return nil
}

type report struct {
	*lab
	out io.Writer
}

// table prints a heading and rows, columns aligned.
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
		pinned = "the server on one processor, all else on another"
	}
	return fmt.Sprintf("the median of %d rounds in turns (least to most); %s", r.Rounds, pinned)
}

func (r *report) fanOut(ctx context.Context) error {
	for _, n := range r.Subscribers {
		all, err := r.lab.fanOut(ctx, n)
		if err != nil {
			return err
		}
		for i, k := range inFlight() {
			r.loads(fmt.Sprintf("Fan-out to %d subscribers, %d items in flight; %s", n, k, r.how()), all[i])
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
		r.loads(fmt.Sprintf("%d deliveries a second to %d subscribers; %s", fixedRate, n, r.how()), all)
	}
	return nil
}

// loads prints one load.
func (r *report) loads(heading string, all series[Load]) {
	rate := column(all, func(f Load) float64 { return f.Rate })
	cpu := column(all, func(f Load) float64 { return micros(f.CPU) })
	p50 := column(all, func(f Load) float64 { return millis(f.P50) })
	p99 := column(all, func(f Load) float64 { return millis(f.P99) })
	crowd := column(all, func(f Load) float64 { return micros(f.Crowd) })
	var rows [][]string
	for _, name := range r.names() {
		rows = append(rows, []string{
			name, rate.cell(name, "%.0f"), rate.ratio(name), cpu.cell(name, "%.2f"), cpu.ratio(name),
			p50.cell(name, "%.1f"), p99.cell(name, "%.1f"), p99.ratio(name), crowd.cell(name, "%.2f"),
		})
	}
	r.table(heading, "|deliveries/s|÷ centrifuge|CPU µs each|÷ centrifuge|p50 ms|p99 ms|÷ centrifuge|the client's own CPU µs", rows)
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
	gib := column(all, func(h Holding) float64 { return (1 << 30) / max(h.RSS, 1) })
	goroutines := column(all, func(h Holding) float64 { return h.Goroutines })
	names := r.names()
	if _, ok := all[heavyName]; ok {
		names = slices.Insert(names, 1, heavyName)
	}
	var rows [][]string
	for _, name := range names {
		rows = append(rows, []string{name, rss.cell(name, "%.1f"), gib.cell(name, "%.0f"), gib.ratio(name), goroutines.cell(name, "%.2f")})
	}
	r.table(fmt.Sprintf("A connection that is subscribed and waits, of %d; memory behind a collection, without that of the kernel; %s", n, r.how()),
		"|KB|connections per GiB|÷ centrifuge|goroutines", rows)
	return nil
}

func (r *report) stalled(ctx context.Context) error {
	all, err := r.stalls(ctx)
	if err != nil {
		return err
	}
	gone := column(all, func(f Stall) float64 { return f.Gone.Seconds() })
	blocked := column(all, func(f Stall) float64 { return f.Blocked.Seconds() })
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
	r.table(fmt.Sprintf("One client who never reads, beside %d who do; items of %d KB, 4 in flight; %s", stallCrowd, large/1000, r.how()),
		"|s until its connection is closed|of that with full buffers|p99 ms of the others without it|with it|ratio", rows)
	return nil
}

// A figure is one of each round, by contender.
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

// cell is the median of a contender, and the least and the most.
func (c figure) cell(name, format string) string {
	return spread(c[name], format)
}

// ratio is how it is to centrifuge's, round by round.
func (c figure) ratio(name string) string {
	base := c[centrifugeName]
	var ratios []float64
	for i := range min(len(base), len(c[name])) {
		ratios = append(ratios, c[name][i]/base[i])
	}
	return spread(ratios, "%.2f")
}

func spread(values []float64, format string) string {
	if len(values) == 0 {
		return "-"
	}
	sorted := slices.SortedFunc(slices.Values(values), cmp.Compare[float64])
	middle := fmt.Sprintf(format, median(sorted))
	if len(sorted) == 1 {
		return middle
	}
	return fmt.Sprintf("%s ("+format+"–"+format+")", middle, sorted[0], sorted[len(sorted)-1])
}

// median is that of values in order, of which there are some.
func median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

func millis(d time.Duration) float64 { return micros(d) / 1e3 }
