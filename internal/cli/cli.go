// Package cli implements the commands of the program: serve, migrate, import, seed, grant,
// accounts, redis, outbox, reconcile, version and probe.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/tandian-dev/tandian/ent/migrate"
	"github.com/tandian-dev/tandian/internal/account"
	"github.com/tandian-dev/tandian/internal/app"
	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/internal/kit/civil"
	"github.com/tandian-dev/tandian/internal/kit/cmdline"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/seeder"
)

// Prepare sets the memory limit of the process and silences the log of the Redis client.
// Main programs call it before anything else.
func Prepare() {
	cobra.MousetrapHelpText = "" // on Windows, a double click starts the server
	redisdb.SilenceRedisLog()
	boundMemory()
}

// Main runs the command that args name and returns the exit code of the process: 0, 1 if
// the command failed, 2 if the arguments or settings were wrong. Results go to stdout,
// logs and errors to stderr.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c := &commands{cfg: config.Default(), stdout: stdout, stderr: stderr}
	root := c.root() //nolint:contextcheck // cobra passes the context to the commands
	root.SetArgs(args[min(1, len(args)):])
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	_, _ = fmt.Fprintln(stderr, "tandian:", err)
	// Without a log, no settings were accepted.
	if _, usage := errors.AsType[cmdline.UsageError](err); usage || c.log == nil {
		return 2
	}
	return 1
}

// commands holds what all commands share. log is nil until
// checkSettings has accepted the settings.
type commands struct {
	cfg            config.Config
	log            *slog.Logger
	stdout, stderr io.Writer
}

func (c *commands) root() *cobra.Command {
	root := &cobra.Command{
		Use: "tandian [COMMAND]", Short: "serve local reviews and flash sales over GraphQL",
		Long: "Without a command, tandian runs serve. Settings are flags, before or after the command, and\n" +
			"environment variables. Without settings, everything runs in this process: no PostgreSQL or Redis\n" +
			"server is needed.",
		PersistentPreRunE: c.checkSettings,
		RunE:              c.serve,
	}
	root.SetOut(c.stdout)
	root.SetErr(c.stderr)
	root.PersistentFlags().SortFlags = false
	root.PersistentFlags().AddFlagSet(c.cfg.Flags())
	serve := &cobra.Command{
		Use: "serve", Short: "serve the API, the web app and the playground (the default command)", RunE: c.serve,
		Long: "A setting is a flag or an environment variable; the flag takes precedence. All commands accept\n" +
			"them. Ctrl-C lets running requests finish.",
	}
	migrate := &cobra.Command{Use: "migrate [COMMAND]", Short: "apply database migrations; servers also do this at startup", RunE: c.migrate}
	migrate.AddCommand(&cobra.Command{Use: "status", Short: "list the migrations and when they were applied", RunE: c.migrateStatus})
	root.AddCommand(
		serve, migrate,
		c.importCommand(), c.seedCommand(), c.grantCommand(), c.accountsCommands(),
		c.redisCommands(), c.outboxCommands(), c.reconcileCommand(),
		&cobra.Command{Use: "version", Short: "print the version, commit, date, Go version and platform", RunE: c.version},
		&cobra.Command{Use: "probe", Short: "check whether the server on this machine is ready; for container images without a shell", RunE: c.probe},
	)
	cmdline.Prepare(root, serve)
	return root
}

// checkSettings reads the environment, checks all settings and then opens the log.
func (c *commands) checkSettings(cmd *cobra.Command, _ []string) error {
	if err := cmdline.ReadEnvironment(cmd.Flags()); err != nil {
		return err
	}
	if err := c.cfg.Check(); err != nil {
		return cmdline.UsageError{Err: err}
	}
	level, err := c.cfg.Level()
	if err != nil {
		return cmdline.UsageError{Err: err}
	}
	c.log = observe.NewLogger(c.stderr, c.cfg.LogFormat, level)
	return nil
}

func (c *commands) serve(cmd *cobra.Command, _ []string) error {
	a, err := app.New(&c.cfg, c.log, c.stdout)
	if err != nil {
		return err
	}
	return a.Run(cmd.Context())
}

func (c *commands) migrate(cmd *cobra.Command, _ []string) error {
	return c.withComponents(cmd.Context(), func(components *app.Components) error {
		_, err := fmt.Fprintf(c.stdout, "%s is up to date.\n", components.DB.Name)
		return err
	})
}

func (c *commands) migrateStatus(cmd *cobra.Command, _ []string) error {
	db, err := sqldb.OpenSQL(sqldb.SQLConfig{URL: c.cfg.DatabaseURL, DataDir: c.cfg.DataDir})
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	files, err := migrate.Files(db.Dialect)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), c.cfg.StartTimeout)
	defer cancel()
	if err := c.await(ctx, db); err != nil {
		return err
	}
	list, err := db.Migrations(ctx, files)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "VERSION\tFILE\tAPPLIED")
	for _, m := range list {
		applied := "pending"
		if !m.Applied.IsZero() {
			applied = m.Applied.Format(time.RFC3339)
		}
		_, _ = fmt.Fprintf(table, "%d\t%s\t%s\n", m.Version, m.Name, applied)
	}
	return table.Flush()
}

// await waits for Postgres. It does nothing for SQLite, because a connection would create
// the file.
func (c *commands) await(ctx context.Context, db *sqldb.SQL) error {
	if c.cfg.DatabaseURL == "" {
		return nil
	}
	return db.Await(ctx, func(err error) { c.log.WarnContext(ctx, "waiting for the database", "err", err) })
}

func (c *commands) seedCommand() *cobra.Command {
	var plan seeder.Plan
	cmd := &cobra.Command{
		Use: "seed", Short: "fill the stores with synthetic shops, users, notes and ratings",
		Long: "The same --seed generates the same data. Later runs with larger numbers add to it.",
		RunE: func(cmd *cobra.Command, _ []string) error { return c.seed(cmd.Context(), plan) },
	}
	f := cmd.Flags()
	f.IntVar(&plan.Users, "users", 0, "create `NUMBER` users: an ADMIN, a MERCHANT that owns the new shops, and CUSTOMERs")
	f.IntVar(&plan.Shops, "shops", 1000, "create `NUMBER` shops")
	f.IntVar(&plan.Notes, "notes", 0, "create `NUMBER` notes by these users about these shops, from the last 60 days, with likes")
	f.IntVar(&plan.Follows, "follows", 0, "create `NUMBER` follows among the users, at most 5000 per user")
	f.IntVar(&plan.Ratings, "ratings", 0, "create `NUMBER` ratings of these shops by these users, from the last 60 days")
	f.IntVar(&plan.Saves, "saves", 0, "create `NUMBER` saves of these shops by these users, from the last 60 days")
	f.IntVar(&plan.CheckIns, "check-ins", 0, "let `NUMBER` users check in on some of the last 30 days")
	f.IntVar(&plan.Visits, "visits", 0, "create `NUMBER` visits to the site and its shops in the last 30 days, some by anonymous clients")
	f.BoolVar(&plan.Pictures, "pictures", true, "draw pictures for shops, their types, users and notes")
	f.StringVar(&plan.Tokens, "tokens", "", "sign in every user and write lines of USER_ID, ROLE and SESSION_TOKEN, separated by tabs, to `FILE`")
	f.Uint64Var(&plan.Seed, "seed", 1, "generate the data from the random seed `NUMBER`")
	return cmd
}

func (c *commands) seed(ctx context.Context, plan seeder.Plan) error {
	if err := plan.Check(); err != nil {
		return cmdline.UsageError{Err: err}
	}
	return c.withComponents(ctx, func(components *app.Components) error {
		plan.Today = civil.DateOf(time.Now().In(components.Zone()))
		return seeder.Seed(ctx, components.SeedServices(), plan, c.stdout)
	})
}

func (c *commands) grantCommand() *cobra.Command {
	roles := make([]string, len(account.Roles()))
	for i, role := range account.Roles() {
		roles[i] = string(role)
	}
	return &cobra.Command{
		Use: "grant PHONE ROLE", Short: "grant a role to a phone number; takes effect immediately",
		Long: "Roles are " + strings.Join(roles, ", ") + ". A number without an account gets one. Use this command to create the first administrator.",
		RunE: c.grant,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return cmdline.Refuse("grant needs a PHONE and a ROLE")
			}
			return nil
		},
	}
}

func (c *commands) grant(cmd *cobra.Command, args []string) error {
	ctx := cmd.Context()
	phone, err := account.ParsePhone(args[0])
	if err != nil {
		return cmdline.UsageError{Err: err}
	}
	role := account.Role(strings.ToUpper(args[1]))
	if !slices.Contains(account.Roles(), role) {
		return cmdline.Refuse("unknown role %q (want one of %v)", role, account.Roles())
	}
	return c.withComponents(ctx, func(components *app.Components) error {
		_, fresh, err := components.Accounts.Grant(ctx, phone, role)
		if err != nil {
			return err
		}
		note := ""
		if fresh {
			note = " The account is new: no one has logged in with this phone yet."
		}
		_, err = fmt.Fprintf(c.stdout, "%v is now %s.%s\n", phone, role, note)
		return err
	})
}

// withComponents opens the components, runs work and closes them.
func (c *commands) withComponents(ctx context.Context, work func(*app.Components) error) error {
	components, err := app.Open(ctx, &c.cfg, c.stdout, app.NewRegistry(), c.log)
	if err != nil {
		return err
	}
	return errors.Join(work(components), components.Close())
}
