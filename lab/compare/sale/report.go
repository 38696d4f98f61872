package sale

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Plan configures [Report].
type Plan struct {
	Redis, Database string        // URLs of private servers; the database is empty
	Rounds          int           // of the table strategies, an odd number
	Each            time.Duration // of a round of one strategy
	Times           int           // of each scene of the table wrong
	Only            []string      // names of [Tables]; empty for all
	Scheme          string        // measure only strategies whose names contain it
}

// Tables returns the names of the tables of [Report].
func Tables() []string { return []string{"strategies", "wrong"} }

// Report runs the planned measurements and writes a table of each to out.
func Report(ctx context.Context, p Plan, out io.Writer) (err error) {
	s, err := Open(ctx, p.Redis, p.Database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	r := &report{p, s, out}
	for i, table := range []func(context.Context) error{r.strategies, r.wrong} {
		if name := Tables()[i]; len(p.Only) == 0 || slices.Contains(p.Only, name) {
			if err := table(ctx); err != nil {
				return fmt.Errorf("table %s: %w", name, err)
			}
		}
	}
	return nil
}

type report struct {
	Plan
	servers *Servers
	out     io.Writer
}

// table prints a heading and rows with aligned columns.
func (r *report) table(heading, columns string, rows [][]any) {
	_, _ = fmt.Fprintf(r.out, "%s\n\n", heading)
	t := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, strings.ReplaceAll(columns, "|", "\t"))
	for _, cells := range rows {
		words := make([]string, len(cells))
		for i, c := range cells {
			words[i] = fmt.Sprint(c)
		}
		_, _ = fmt.Fprintln(t, strings.Join(words, "\t"))
	}
	_ = t.Flush()
	_, _ = fmt.Fprintln(r.out)
}

// goal is the wanted admission rate of Tandian, relative to the best strategy with a transaction per
// order.
const goal = 8

func (r *report) strategies(ctx context.Context) error {
	variants := slices.DeleteFunc(Variants(), func(v Variant) bool { return !strings.Contains(v.Name, r.Scheme) })
	all, err := r.servers.Figures(ctx, variants, r.Rounds, r.Each)
	if err != nil {
		return err
	}
	var rows [][]any
	for _, f := range all {
		rows = append(rows, []any{
			f.Name, fmt.Sprintf("%.0f", f.Admitted), millis(f.P50), millis(f.P99), fmt.Sprintf("%.0f", f.Stored),
			fmt.Sprintf("%.2f", f.Retries), fmt.Sprintf("%.2f, %.2f", f.RedisTrips, f.SQLTrips),
			f.Oversold, f.Duplicate, f.Lost, f.Unsold, f.Drift, f.Orders,
		})
	}
	r.table(
		fmt.Sprintf("Strategies: %d callers, the median of %d interleaved rounds of %v, and after each a sale of %d units to %d users that ask twice",
			callers, r.Rounds, r.Each, few, crowd),
		"strategy|admitted/s|p50|p99|stored/s|retries each|trips each: Redis, SQL|oversold|duplicate|lost|unsold|drift|orders checked", rows)
	r.ratio(all)
	return nil
}

// ratio prints the ratio that has a goal.
func (r *report) ratio(all []*Figure) {
	var best *Figure
	for _, f := range all {
		if f.Single && (best == nil || f.Admitted > best.Admitted) {
			best = f
		}
	}
	for _, f := range all {
		if !f.Ours || best == nil {
			continue
		}
		ratio, met := f.Ratio(best), ""
		if f.Name == group {
			met = fmt.Sprintf(" (goal ≥ %d: %s)", goal, map[bool]string{true: "yes", false: "NO"}[ratio >= goal])
		}
		_, _ = fmt.Fprintf(r.out, "%s ÷ %s, the best with a transaction for each order: %.1f%s\n", f.Name, best.Name, ratio, met)
	}
	_, _ = fmt.Fprintln(r.out)
}

func millis(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

func (r *report) wrong(ctx context.Context) error {
	all, err := r.servers.Wrong(ctx, r.Times)
	if err != nil {
		return err
	}
	var rows [][]any
	for _, a := range all {
		rows = append(rows, []any{a.Name, a.Oversold, a.Duplicate, a.Unsold, a.Lost, a.Theory, map[bool]string{true: "yes", false: "NO"}[a.Holds]})
	}
	r.table(
		fmt.Sprintf("Anomalies: two concurrent requests, the second at the worst moment of the first; %d sales of one unit to two users, of two to one user that asks twice, and of two to two",
			r.Times),
		"strategy|oversold|duplicate|unsold though stock|lost|theory predicts|confirmed", rows)
	return nil
}
