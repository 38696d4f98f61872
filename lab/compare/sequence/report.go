package sequence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Plan configures [Report].
type Plan struct {
	Redis    string // URL of one server
	Database string // DSN of a Postgres database; without it the schemes that need one are left out
	Rounds   int    // of the rate
	Each     time.Duration
	Seed     uint64 // of the random choices
	Scheme   string // measures only schemes with this in their name
}

// Tables returns the names of the tables of [Report].
func Tables() []string { return []string{"numbers"} }

// Report runs the planned measurements and writes the table to out. Its objects in Redis and in the
// database have random names; it removes them afterwards.
func Report(ctx context.Context, p Plan, out io.Writer) (err error) {
	s, err := Open(ctx, p.Redis, p.Database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(ctx)) }()
	schemes := slices.DeleteFunc(Schemes(), func(sc Scheme) bool { return !strings.Contains(sc.Name, p.Scheme) })
	left := func(sc Scheme) bool { return sc.SQL && p.Database == "" }
	for _, sc := range schemes {
		if left(sc) {
			_, _ = fmt.Fprintf(out, "Omitted without a database: %s\n", sc.Name)
		}
	}
	schemes = slices.DeleteFunc(schemes, left)
	rates, err := s.Rates(ctx, schemes, p.Rounds, p.Each)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "Numbers of orders: %d goroutines in one process, the median of %d interleaved rounds of %v; seed %d\n\n",
		workers, p.Rounds, p.Each, p.Seed)
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, strings.ReplaceAll(columns, "|", "\t"))
	for i, sc := range schemes {
		row, err := s.row(ctx, sc, rates[i], rand.New(rand.NewPCG(p.Seed, 0)))
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	_ = t.Flush()
	_, _ = fmt.Fprint(out, legend)
	return nil
}

const columns = "scheme|numbers/s|× ours|round trips each|bytes|int64|ordered by time|betrays volume|A|B|C|D"

const legend = `
repeated numbers:
A  of 100, after Redis lost the last 100 it made, within the same second
B  the same, a second later
C  of 1000, after the clock stepped back by the second in which it had made 1000
D  the same, by a process that was restarted meanwhile
`

func (s *Servers) row(ctx context.Context, sc Scheme, rate Rate, random *rand.Rand) ([]string, error) {
	fits, err := s.fits(ctx, sc)
	if err != nil {
		return nil, err
	}
	ordered, err := s.ordered(ctx, sc)
	if err != nil {
		return nil, err
	}
	betrays, err := s.betrays(ctx, sc, random)
	if err != nil {
		return nil, err
	}
	toOurs, int64s := "–", "no"
	if rate.ToOurs > 0 {
		toOurs = fmt.Sprintf("%.3f", rate.ToOurs)
	}
	if fits {
		int64s = "yes"
	}
	cells := []string{sc.Name, fmt.Sprintf("%.0f", rate.PerSecond), toOurs, fmt.Sprintf("%.5f", rate.Trips), fmt.Sprint(sc.Bytes), int64s, ordered, betrays}
	for _, try := range []func() (int, error){
		func() (int, error) { return s.lost(ctx, sc, 0) },
		func() (int, error) { return s.lost(ctx, sc, time.Second) },
		func() (int, error) { return s.steps(ctx, sc, false) },
		func() (int, error) { return s.steps(ctx, sc, true) },
	} {
		repeated, err := try()
		switch {
		case errors.Is(err, errClockBehind):
			cells = append(cells, "refuses")
		case err != nil:
			return nil, err
		default:
			cells = append(cells, fmt.Sprint(repeated))
		}
	}
	return cells, nil
}
