package queue

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Plan configures [Report].
type Plan struct {
	Lab
	Rounds int      // of the rates
	Only   []string // names of [Tables]; empty for all
	Scheme string   // measure only schemes whose names contain it
}

// Tables returns the names of the tables of [Report].
func Tables() []string { return []string{"cost", "losses"} }

// Report runs the planned measurements, on servers of its own, and writes a table of each to out.
func Report(ctx context.Context, p Plan, out io.Writer) error {
	r := report{p, slices.DeleteFunc(Schemes(), func(sc Scheme) bool { return !strings.Contains(sc.Name, p.Scheme) }), out}
	for _, t := range []struct {
		name string
		run  func(context.Context) error
	}{{"cost", r.cost}, {"losses", r.losses}} {
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
	schemes []Scheme
	out     io.Writer
}

// table prints a heading and rows with aligned columns.
func (r report) table(heading, columns string, row func(sc Scheme, i int) ([]string, error)) error {
	_, _ = fmt.Fprintf(r.out, "%s\n\n", heading)
	t := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, strings.ReplaceAll(columns, "|", "\t"))
	for i, sc := range r.schemes {
		cells, err := row(sc, i)
		if err != nil {
			return fmt.Errorf("%s: %w", sc.Name, err)
		}
		_, _ = fmt.Fprintln(t, sc.Name+"\t"+strings.Join(cells, "\t"))
	}
	_ = t.Flush()
	_, _ = fmt.Fprintln(r.out)
	return nil
}

func (r report) cost(ctx context.Context) error {
	single, err := r.rates(ctx, r.schemes, r.Rounds, 1)
	if err != nil {
		return err
	}
	many, err := r.rates(ctx, r.schemes, r.Rounds, together)
	if err != nil {
		return err
	}
	heading := fmt.Sprintf("Cost of a message: one sender, one consumer, messages of %d bytes, the median of %d interleaved rounds of %d", messageBytes, r.Rounds, r.Messages)
	columns := fmt.Sprintf("scheme|sent one by one/s|× ours|sent %d at once/s|× ours|missed|bytes per waiting message", together)
	return r.table(heading, columns, func(sc Scheme, i int) ([]string, error) {
		w, err := r.waitingBytes(ctx, sc)
		if err != nil {
			return nil, err
		}
		waits := fmt.Sprintf("%.0f", w.Bytes)
		if w.Count < w.Sent {
			waits = fmt.Sprintf("of %d wait %d", w.Sent, w.Count)
		}
		return []string{
			fmt.Sprintf("%.0f", single[i].PerSecond), ratio(single[i].ToOurs), fmt.Sprintf("%.0f", many[i].PerSecond), ratio(many[i].ToOurs),
			fmt.Sprintf("%d and %d of %d", single[i].Missed, many[i].Missed, r.Rounds*r.Messages), waits,
		}, nil
	})
}

func ratio(of float64) string {
	if of == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", of)
}

const legend = `lost (and handled twice), each in a run of its own:
A  a consumer is killed when it has read and not handled, another when it has handled and not said so
B  Redis is killed while half of the messages wait, and starts on its file; the other half is sent before the consumer goes on
C  the power fails: Redis has lost what it wrote since half of the messages were there, namely the other half, and that a quarter was handled
D  the messages are sent while there is no consumer; then one starts
E  the consumer is busy while the messages are sent, of 4 KB each; subscribers may have 64 KB unread
"two share": two consumers at once; "again": whether a further reader gets what was handled, on request
`

func (r report) losses(ctx context.Context) error {
	heading := fmt.Sprintf("Results of %d messages", r.Messages)
	err := r.table(heading, "scheme|A|B|C|D|E|two share|again", func(sc Scheme, _ int) ([]string, error) {
		return r.row(ctx, sc)
	})
	_, _ = fmt.Fprint(r.out, legend)
	return err
}

// row returns the outcomes of a scheme, in the columns of the table.
func (l Lab) row(ctx context.Context, sc Scheme) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	var cells []string
	for _, try := range []func(context.Context, Scheme) (Outcome, error){l.consumerKilled, l.redisKilled, l.powerCut, l.noConsumer, l.slowConsumer} {
		o, err := try(ctx, sc)
		if err != nil {
			return nil, err
		}
		cells = append(cells, o.String())
	}
	two, err := l.twoConsumers(ctx, sc)
	if err != nil {
		return nil, err
	}
	again, err := l.replayed(ctx, sc)
	return append(cells, two.String(), again.again()), err
}

// String returns the number of lost messages, and of extra handlings if there were any.
func (o Outcome) String() string {
	if o.Twice == 0 {
		return fmt.Sprint(o.Lost)
	}
	return fmt.Sprintf("%d (%d twice)", o.Lost, o.Twice)
}

// again describes whether a reader received handled messages again.
func (o Outcome) again() string {
	switch o.Lost {
	case 0:
		return "yes"
	case o.Sent:
		return "no"
	}
	return fmt.Sprintf("%d of %d", o.Sent-o.Lost, o.Sent)
}

func (s Sharing) String() string {
	if s.Shared() {
		return "yes"
	}
	return fmt.Sprintf("no: %d twice", s.Twice)
}
