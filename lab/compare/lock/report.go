package lock

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
	Redis    []string // URLs of one server, or of three
	Database string   // DSN of a Postgres database; without it the schemes that need one are left out
	Rounds   int      // of the table handover
	Seed     uint64   // of the random choices
	Only     []string // names of [Tables]; empty for all
	Scheme   string   // measure only variants whose names contain it
}

// Tables returns the names of the tables of [Report].
func Tables() []string { return []string{"anomalies", "handover"} }

// Report runs the planned measurements and writes a table of each to out. Its objects in Redis and
// in the database have random names; it removes them afterwards.
func Report(ctx context.Context, p Plan, out io.Writer) (err error) {
	s, err := Open(ctx, p.Redis, p.Database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(ctx)) }()
	r := &report{p, s, out}
	r.missing()
	for _, t := range []struct {
		name string
		run  func(context.Context) error
	}{{"anomalies", r.anomalies}, {"handover", r.handover}} {
		if len(p.Only) > 0 && !slices.Contains(p.Only, t.name) {
			continue
		}
		if err := t.run(ctx); err != nil {
			return fmt.Errorf("table %s: %w", t.name, err)
		}
	}
	return nil
}

type report struct {
	Plan
	servers *Servers
	out     io.Writer
}

func (r *report) variants() []Variant {
	return slices.DeleteFunc(Variants(), func(v Variant) bool {
		return !r.servers.suits(v) || !strings.Contains(v.Name, r.Scheme)
	})
}

// missing names the variants that lack a server.
func (r *report) missing() {
	var names []string
	for _, v := range Variants() {
		if !r.servers.suits(v) && strings.Contains(v.Name, r.Scheme) {
			names = append(names, v.Name)
		}
	}
	if len(names) > 0 {
		_, _ = fmt.Fprintf(r.out, "Omitted without a database or three Redis servers: %s\n\n", strings.Join(names, "; "))
	}
}

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
	notes := new(notes)
	err := r.table("Anomalies: one interleaving each, forced step by step (– : does not arise)", strings.Join(columns, "|"), func(row func(...any)) error {
		for _, v := range r.variants() {
			cells := []any{v.Name}
			for _, a := range all {
				verdict, err := r.servers.Try(ctx, a, v)
				if err != nil {
					return err
				}
				cells = append(cells, verdict.Outcome)
				if verdict.Why != "" {
					notes.add(fmt.Sprintf("%s: %s", a.ID, verdict.Why), v.Name)
				}
			}
			row(cells...)
		}
		return nil
	})
	for _, a := range all {
		_, _ = fmt.Fprintf(r.out, "%-4s %s\n", a.ID, a.Name)
	}
	_, _ = fmt.Fprintf(r.out, "\n%s\n\n", notes)
	return err
}

// notes holds distinct events, each with its variants.
type notes struct {
	what     []string
	variants map[string][]string
}

func (n *notes) add(what, variant string) {
	if n.variants == nil {
		n.variants = make(map[string][]string)
	}
	if n.variants[what] == nil {
		n.what = append(n.what, what)
	}
	n.variants[what] = append(n.variants[what], variant)
}

func (n *notes) String() string {
	var text strings.Builder
	for _, what := range slices.Sorted(slices.Values(n.what)) {
		_, _ = fmt.Fprintf(&text, "%s (%s)\n", what, strings.Join(n.variants[what], "; "))
	}
	return strings.TrimSuffix(text.String(), "\n")
}

func (r *report) handover(ctx context.Context) error {
	vs := slices.DeleteFunc(r.variants(), func(v Variant) bool { return v.Twin })
	got, err := r.servers.Handover(ctx, vs, r.Rounds, r.Seed)
	if err != nil {
		return err
	}
	heading := fmt.Sprintf("Handing over: two processes, a holder works %v to %v, %d interleaved rounds, seed %d; a lock of %v",
		handoverMin, handoverMax, r.Rounds, r.Seed, handoverTTL)
	return r.table(heading, "scheme|p50|p99|max|lock and unlock|requests|requests in 1 s of waiting", func(row func(...any)) error {
		for _, h := range got {
			row(h.Name, millis(h.P50), millis(h.P99), millis(h.Max), fmt.Sprintf("%d µs", h.Cost.Microseconds()), fmt.Sprintf("%.1f", h.Sent), h.Waiting)
		}
		return nil
	})
}

func millis(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000) }
