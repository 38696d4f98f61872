package app

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

	"github.com/urfave/cli/v3"

	"github.com/tandian-dev/tandian/ent/migrate"
	"github.com/tandian-dev/tandian/internal/account"
	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/internal/kit/calendar"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/store"
	"github.com/tandian-dev/tandian/internal/town"
)

// Prepare sets what belongs to the whole process and not to an App. Only main
// calls it, first.
func Prepare() {
	store.Hush()
	boundMemory()
}

// Main runs the command that args name and returns the process's exit code:
// 0, 1 when the command failed, 2 when it was called wrongly. What a command
// answers goes to stdout, logs and errors to stderr.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c := &commands{cfg: config.Default(), stdout: stdout, stderr: stderr}
	err := refusingArguments(c.command()).Run(ctx, args)
	if err == nil {
		return 0
	}
	_, _ = fmt.Fprintln(stderr, "tandian:", err)
	// What fails before the settings are checked, such as a number in the
	// environment that is none, is a wrong call too.
	if _, usage := errors.AsType[usageError](err); usage || c.log == nil {
		return 2
	}
	return 1
}

// usageError says that a command was called wrongly.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// commands is what all commands share.
type commands struct {
	cfg            config.Config
	log            *slog.Logger
	stdout, stderr io.Writer
}

// refusingArguments has a command and those below it refuse words that they do not
// use. What uses words says which, in ArgsUsage.
func refusingArguments(of *cli.Command) *cli.Command {
	if act := of.Action; act != nil && of.ArgsUsage == "" {
		of.Action = func(ctx context.Context, cmd *cli.Command) error {
			if word := cmd.Args().First(); cmd.Args().Present() && cmd.Root() == cmd {
				return usageError{fmt.Errorf("there is no command %q; see --help", word)}
			} else if cmd.Args().Present() {
				_, name, _ := strings.Cut(cmd.FullName(), " ")
				return usageError{fmt.Errorf("%s takes no %q; see %[1]s --help", name, word)}
			}
			return act(ctx, cmd)
		}
	}
	for _, command := range of.Commands {
		refusingArguments(command)
	}
	return of
}

func (c *commands) command() *cli.Command {
	return &cli.Command{
		Name:      "tandian",
		Usage:     "a GraphQL server for local reviews and flash sales",
		UsageText: "tandian [settings] [command]\n\nWithout a command it serves. Without --database-url and --redis-url everything runs in one process.",
		Flags:     c.cfg.Flags(),
		Before:    c.before,
		Action:    c.serve,
		Commands: []*cli.Command{
			{Name: "serve", Usage: "serve the API and the playground (the default)", Action: c.serve},
			{
				Name: "migrate", Usage: "bring the database up to date; servers do so at their start", Action: c.migrate,
				Commands: []*cli.Command{{Name: "status", Usage: "list the migrations and whether they are applied", Action: c.migrateStatus}},
			},
			c.importCommand(),
			{
				Name: "seed", Usage: "fill the stores with a synthetic region, its people, whom they follow and what they write", Action: c.seed,
				Flags: []cli.Flag{
					&cli.IntFlag{Name: "users", Value: 0, Usage: "`NUMBER` of users: an ADMIN, then a MERCHANT who owns the new shops, then CUSTOMERs", Local: true},
					&cli.IntFlag{Name: "shops", Value: 1000, Usage: "`NUMBER` of shops", Local: true},
					&cli.IntFlag{Name: "notes", Value: 0, Usage: "`NUMBER` of notes by the users about the shops, of the last 60 days, with likes", Local: true},
					&cli.IntFlag{Name: "follows", Value: 0, Usage: "`NUMBER` of follows among the users, at most 5000 of each", Local: true},
					&cli.IntFlag{Name: "check-ins", Value: 0, Usage: "`NUMBER` of users who check in on some of the last 30 days", Local: true},
					&cli.IntFlag{Name: "visits", Value: 0, Usage: "`NUMBER` of visits to the site and its shops in the last 30 days, by users and strangers", Local: true},
					&cli.BoolFlag{Name: "pictures", Value: true, Usage: "draw pictures for shops, their types, users and notes", Local: true},
					&cli.StringFlag{Name: "tokens", Usage: "`FILE` to write with a session for each of the users: USER_ID, ROLE and SESSION_TOKEN between tabs", Local: true},
					&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "`NUMBER` that decides what is made: the same one makes the same", Local: true},
				},
			},
			{
				Name: "grant", Usage: "give a phone's account a role, at once; the first administrator is made this way", ArgsUsage: "PHONE ROLE", Action: c.grant,
			},
			c.accountsCommands(),
			c.redisCommands(),
			c.outboxCommands(),
			c.reconcileCommand(),
			{Name: "version", Usage: "print the version, the commit and its time, and what the program runs on", Action: c.version},
			{Name: "probe", Usage: "ask the server at --addr whether it is ready: exit code 0, else 1", Action: c.probe},
		},
		Writer: c.stdout, ErrWriter: c.stderr,
		OnUsageError: func(_ context.Context, _ *cli.Command, err error, _ bool) error { return usageError{err} },
		// The exit code is Main's to decide.
		ExitErrHandler: func(context.Context, *cli.Command, error) {},
	}
}

// before checks the settings, which all commands share.
func (c *commands) before(ctx context.Context, cmd *cli.Command) (context.Context, error) {
	if err := c.cfg.Check(); err != nil {
		return ctx, usageError{err}
	}
	level, err := c.cfg.Level()
	if err != nil {
		return ctx, usageError{err}
	}
	c.log = observe.NewLogger(c.stderr, c.cfg.LogFormat, level)
	return ctx, nil
}

func (c *commands) serve(ctx context.Context, _ *cli.Command) error {
	a, err := New(&c.cfg, c.log, c.stdout)
	if err != nil {
		return err
	}
	return a.Run(ctx)
}

func (c *commands) migrate(ctx context.Context, _ *cli.Command) error {
	return c.withHouse(ctx, func(h *House) error {
		_, err := fmt.Fprintf(c.stdout, "%s is up to date.\n", h.DB.Name)
		return err
	})
}

func (c *commands) migrateStatus(ctx context.Context, _ *cli.Command) error {
	db, err := store.OpenSQL(store.SQLConfig{URL: c.cfg.DatabaseURL, DataDir: c.cfg.DataDir})
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	files, err := migrate.Files(db.Dialect)
	if err != nil {
		return err
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

// await waits for a real database. The embedded one is a file, which a look must not create.
func (c *commands) await(ctx context.Context, db *store.SQL) error {
	if c.cfg.DatabaseURL == "" {
		return nil
	}
	return db.Await(ctx, waiting(ctx, c.log))
}

func (c *commands) seed(ctx context.Context, cmd *cli.Command) error {
	plan := town.Plan{
		Users: cmd.Int("users"), Shops: cmd.Int("shops"), Notes: cmd.Int("notes"), Follows: cmd.Int("follows"),
		CheckIns: cmd.Int("check-ins"), Visits: cmd.Int("visits"), Pictures: cmd.Bool("pictures"),
		Seed: cmd.Uint64("seed"), Tokens: cmd.String("tokens"),
	}
	if err := plan.Check(); err != nil {
		return usageError{err}
	}
	return c.withHouse(ctx, func(h *House) error {
		plan.Today = calendar.DateOf(time.Now().In(h.zone))
		return town.Seed(ctx, h.town(), plan, c.stdout)
	})
}

func (c *commands) grant(ctx context.Context, cmd *cli.Command) error {
	if cmd.Args().Len() != 2 {
		return usageError{errors.New("grant needs a PHONE and a ROLE")}
	}
	phone, err := account.ParsePhone(cmd.Args().Get(0))
	if err != nil {
		return usageError{err}
	}
	role := account.Role(strings.ToUpper(cmd.Args().Get(1)))
	if !slices.Contains(account.Roles(), role) {
		return usageError{fmt.Errorf("there is no such role; there are %v", account.Roles())}
	}
	return c.withHouse(ctx, func(h *House) error {
		_, fresh, err := h.Accounts.Grant(ctx, phone, role)
		if err != nil {
			return err
		}
		note := ""
		if fresh {
			note = " The account is new: nobody has logged in with this phone yet."
		}
		_, err = fmt.Fprintf(c.stdout, "%v is %s now.%s\n", phone, role, note)
		return err
	})
}

// withHouse opens the stores for one piece of work.
func (c *commands) withHouse(ctx context.Context, work func(*House) error) error {
	h, err := Open(ctx, &c.cfg, c.stdout, newRegistry(), c.log)
	if err != nil {
		return err
	}
	return errors.Join(work(h), h.Close())
}
