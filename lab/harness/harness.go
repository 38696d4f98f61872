// Package harness prints tables of measurements with their goals, and compares candidates in
// rounds.
package harness

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// Row is a line of a table. A row without a goal is a reference value.
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

// Measurement is a group of rows that are measured together.
type Measurement struct {
	Name    string
	Measure func(context.Context) ([]Row, error)
	Without error // reason why it cannot be measured, printed instead of rows; nil if it can
}

// Table makes measurements one after the other and writes their rows to out. It writes the
// name of each measurement to progress, after the name of the table.
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

// Samples is a list of durations in any order.
type Samples []time.Duration

// Percentile returns the p-th percentile: at most (100-p) % of the durations are longer, and
// the 100th is the maximum. It returns 0 without samples.
func (t Samples) Percentile(p int) time.Duration {
	if len(t) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(t))[(len(t)-1)*p/100]
}

// Millis returns a duration in milliseconds.
func Millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
