package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/spf13/cobra"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/migrate"
	"github.com/tandian-dev/tandian/internal/app"
	"github.com/tandian-dev/tandian/internal/flashsale"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/cmdline"
	"github.com/tandian-dev/tandian/internal/kit/reconcile"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

func (c *commands) reconcileCommand() *cobra.Command {
	var (
		o    reconcile.Options
		only string
	)
	cmd := &cobra.Command{
		Use: "reconcile", Short: "compare derived data with its source and repair it; safe while servers run",
		Long: "It prints the counts and the findings of each scan. The exit code is 0 if no difference is left, 1\n" +
			"if one is left or a comparison failed.",
		RunE: func(cmd *cobra.Command, _ []string) error { return c.reconcile(cmd.Context(), o, only) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.DryRun, "dry-run", false, "report differences and change nothing")
	f.StringVar(&only, "only", "", "run these `SCANS`, separated by commas; all if empty")
	f.IntVar(&o.Rate, "rate", 0, "compare at most `NUMBER` objects a second; 0 is the default of each scan, -1 is no limit")
	return cmd
}

var errUnrepaired = errors.New("some differences are not repaired")

func (c *commands) reconcile(ctx context.Context, o reconcile.Options, only string) error {
	if o.DryRun {
		if err := c.upToDate(ctx); err != nil {
			return err
		}
	}
	return c.withComponents(ctx, func(components *app.Components) error {
		scans := components.Scans().All()
		if only != "" {
			var err error
			if scans, err = components.Scans().ByName(strings.Split(only, ",")...); err != nil {
				return cmdline.UsageError{Err: err}
			}
		}
		if c.cfg.RedisURL == "" {
			// The embedded Redis of this process is empty, and that of the server is inaccessible.
			scans = slices.DeleteFunc(slices.Clone(scans), func(s reconcile.Scan) bool { return s.Redis })
			_, _ = fmt.Fprintln(c.stderr, "Redis is embedded in the server, so only the server scans its data, on a schedule.")
		}
		return c.runScans(ctx, components.Scans(), scans, o)
	})
}

// upToDate returns an error unless the database has all migrations and the settings of
// the first start. Otherwise app.Open would write them.
func (c *commands) upToDate(ctx context.Context) error {
	db, err := sqldb.OpenSQL(sqldb.SQLConfig{URL: c.cfg.DatabaseURL, DataDir: c.cfg.DataDir})
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	files, err := migrate.Files(db.Dialect)
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.StartTimeout)
	defer cancel()
	if err := c.await(ctx, db); err != nil {
		return err
	}
	list, err := db.Migrations(ctx, files)
	if err != nil {
		return err
	}
	for _, m := range list {
		if m.Applied.IsZero() {
			return fmt.Errorf("%s lacks the migration %s: run tandian migrate before a dry run", db.Name, m.Name)
		}
	}
	fixed, err := flashsale.PartitionsFixed(ctx, ent.NewClient(ent.Driver(entsql.OpenDB(db.Dialect, db.DB))))
	if err == nil && !fixed {
		err = fmt.Errorf("no server has started on %s yet: start one before a dry run", db.Name)
	}
	return err
}

// runScans runs scans in order. It continues after a failure.
func (c *commands) runScans(ctx context.Context, all *reconcile.Scans, scans []reconcile.Scan, o reconcile.Options) error {
	outcomes := make([]reconcile.Outcome, len(scans))
	var failed []error
	left := 0
	for i, scan := range scans {
		o.OnProgress = progressTo(c.stderr, scan.Name)
		var err error
		outcomes[i], err = all.RunOnce(ctx, scan, o)
		failed = append(failed, err)
		left += outcomes[i].Unrepaired()
	}
	err := printScans(c.stdout, scans, outcomes)
	if left > 0 {
		failed = append(failed, errUnrepaired)
	}
	return errors.Join(append(failed, err)...)
}

// progressTo returns a callback that prints how many objects a scan has compared, at most
// every two seconds. The total is unknown.
func progressTo(out io.Writer, name string) func(int) {
	throttle := &clock.Throttle{Every: 2 * time.Second}
	throttle.Allow() // delays the first line
	return func(compared int) {
		if throttle.Allow() {
			_, _ = fmt.Fprintf(out, "%s: %d compared\n", name, compared)
		}
	}
}

// printScans prints a table of the scans, and then their findings.
func printScans(out io.Writer, scans []reconcile.Scan, outcomes []reconcile.Outcome) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "SCAN\tCOMPARED\tFOUND\tREPAIRED\tTOOK\tDESCRIPTION")
	for i, o := range outcomes {
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%v\t%s\n", scans[i].Name, o.Compared, o.Found, o.Repaired, o.Duration.Round(time.Millisecond), scans[i].Description)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for i, o := range outcomes {
		for _, line := range o.Lines {
			if _, err := fmt.Fprintf(out, "%s: %s\n", scans[i].Name, line); err != nil {
				return err
			}
		}
		if more := o.Found - len(o.Lines); more > 0 {
			if _, err := fmt.Fprintf(out, "%s: and %d more\n", scans[i].Name, more); err != nil {
				return err
			}
		}
	}
	return nil
}
