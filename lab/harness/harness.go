// Package harness prints tables of measurements with their goals, and compares
// contenders in rounds.
package harness

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// Row is a line of a table. Without a goal it is there to be compared with.
type Row struct {
	What, Measured, Goal string
	Met                  bool
}

func (r Row) verdict() string {
	switch {
	case r.Goal == "":
		return ""
	case r.Met:
		return "yes"
	}
	return "NO"
}

// Measurement is some rows that are measured together.
type Measurement struct {
	Name    string
	Measure func(context.Context) ([]Row, error)
	Without error // why it cannot be made, which the table says then; nil: it can
}

// Table makes measurements, one after the other, and writes their rows to out.
// What is being measured goes to progress, after the name of the table.
func Table(ctx context.Context, name string, list []Measurement, out, progress io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "what\tmeasured\tgoal\tmet")
	for _, m := range list {
		if m.Without != nil {
			_, _ = fmt.Fprintf(table, "%s\t%v\t\t\n", m.Name, m.Without)
			continue
		}
		fmt.Fprintf(progress, "%s: %s\n", name, m.Name)
		rows, err := m.Measure(ctx)
		if err != nil {
			return fmt.Errorf("measure %s: %w", m.Name, err)
		}
		for _, r := range rows {
			_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", r.What, r.Measured, r.Goal, r.verdict())
		}
	}
	return table.Flush()
}

// Samples are durations of one kind, in any order.
type Samples []time.Duration

// Percentile is the p-th: no more than (100-p) % of the times are longer, the
// 100th is the longest. Of no times it is 0.
func (t Samples) Percentile(p int) time.Duration {
	if len(t) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(t))[(len(t)-1)*p/100]
}

// Millis are the milliseconds of a duration.
func Millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
