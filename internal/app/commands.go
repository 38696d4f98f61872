package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/tandian-dev/tandian/ent/migrate"
	"github.com/tandian-dev/tandian/internal/account"
	"github.com/tandian-dev/tandian/internal/bench"
	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/internal/kit/cache/cachebench"
	"github.com/tandian-dev/tandian/internal/kit/calendar"
	"github.com/tandian-dev/tandian/internal/kit/lock/lockbench"
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
			{
				Name: "bench", Usage: "measure this installation",
				Commands: []*cli.Command{
					{Name: "shops", Usage: "how long it takes to find shops: lists, near a place, searches", Action: c.benchShops},
					{
						Name: "cache", Usage: "what the cache costs and holds to, on --redis-url or a redis-server of its own; in a checkout of Tandian also beside the field's schemes and libraries", Action: c.benchCache,
						Flags: []cli.Flag{
							&cli.Int64Flag{Name: "reads", Value: 1_000_000, Usage: "`NUMBER` of strict reads", Local: true},
							&cli.IntFlag{Name: "expiries", Value: 100, Usage: "`NUMBER` of expiries of the hot key", Local: true},
							&cli.DurationFlag{Name: "dur", Value: 4 * time.Second, Usage: "`TIME` of each scheme in the tables stale and hot", Local: true},
							&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "`NUMBER` that decides the random choices", Local: true},
							&cli.StringFlag{Name: "only", Usage: "`TABLES` to print, between commas: ours, anomalies, stale, hot, hit, local", Local: true},
						},
						Commands: []*cli.Command{{Name: "process", Hidden: true, Action: c.benchCacheProcess}},
					},
					{
						Name: "lock", Usage: "what the lock costs and holds to, on --redis-url or redis-servers of its own; in a checkout of Tandian also beside the field's schemes and libraries", Action: c.benchLock,
						Flags: []cli.Flag{
							&cli.IntFlag{Name: "handovers", Value: 1000, Usage: "`NUMBER` of hand-overs between two processes", Local: true},
							&cli.IntFlag{Name: "waiters", Value: 200, Usage: "`NUMBER` of waiters in three processes", Local: true},
							&cli.IntFlag{Name: "cancelled", Value: 10_000, Usage: "`NUMBER` of calls that are cancelled", Local: true},
							&cli.IntFlag{Name: "leases", Value: 1000, Usage: "`NUMBER` of locks that are held when Redis stops", Local: true},
							&cli.IntFlag{Name: "rounds", Usage: "`NUMBER` of rounds of the table handover; 0 for as many as it has by itself", Local: true},
							&cli.StringFlag{Name: "only", Usage: "`TABLES` to print, between commas: ours, anomalies, handover", Local: true},
						},
						Commands: []*cli.Command{{Name: "process", Hidden: true, Action: c.benchLockProcess}},
					},
					{
						Name: "sale", Usage: "how flash sales do from order to row, on a Redis and a PostgreSQL of its own that keep what they are told; in a checkout of Tandian also beside the field's strategies, right and wrong", Action: c.benchSale,
						Flags: []cli.Flag{
							&cli.IntFlag{Name: "users", Value: 40_000, Usage: "`NUMBER` of users of a sale, with a piece for each", Local: true},
							&cli.IntFlag{Name: "rounds", Value: 3, Usage: "`NUMBER` of sales of each kind", Local: true},
							&cli.StringFlag{Name: "only", Usage: "`TABLES` to print, between commas: door, ours, strategies, wrong", Local: true},
							&cli.StringFlag{Name: "profiles", Usage: "`FOLDER` for profiles of the server under load; none if empty", Local: true},
						},
						Commands: []*cli.Command{{Name: "process", Hidden: true, Action: c.benchSaleProcess}},
					},
					{
						Name: "notes", Usage: "how fast notes are published, numbered in the order of their commits, and liked, on a Redis and a PostgreSQL of its own that keeps what it is told", Action: c.benchNotes,
						Flags: []cli.Flag{
							&cli.IntFlag{Name: "clients", Value: 16, Usage: "`NUMBER` of clients at once", Local: true},
							&cli.IntFlag{Name: "rows", Value: 20_000, Usage: "`NUMBER` of writes of each line of the table", Local: true},
						},
					},
					{
						Name: "feed", Usage: "what publishing costs however many follow, how soon a note is in all inboxes, and pages of feeds, on a Redis and a PostgreSQL of its own that keeps what it is told", Action: c.benchFeed,
						Flags: []cli.Flag{
							&cli.IntFlag{Name: "clients", Value: 16, Usage: "`NUMBER` of readers at once", Local: true},
							&cli.IntFlag{Name: "followers", Value: 99_000, Usage: "`NUMBER` of followers of an author who is pushed, less than 100000", Local: true},
							&cli.IntFlag{Name: "fans", Value: 1_000_000, Usage: "`NUMBER` of followers of a star, more than those", Local: true},
							&cli.IntFlag{Name: "rounds", Value: 61, Usage: "`NUMBER` of notes of each author", Local: true},
							&cli.IntFlag{Name: "pages", Value: 10_000, Usage: "`NUMBER` of reads of each kind of page", Local: true},
						},
					},
					{
						Name: "live", Usage: "in a checkout of Tandian: the live feed beside the field's, what telling many costs and what their connections take, on a Redis and a PostgreSQL of its own", Action: c.benchLive,
						Flags: []cli.Flag{
							&cli.StringFlag{Name: "n", Value: "1000,5000", Usage: "`NUMBERS` of subscribers, between commas; memory is measured with the last", Local: true},
							&cli.IntFlag{Name: "rounds", Value: 3, Usage: "`NUMBER` of turns of each", Local: true},
							&cli.DurationFlag{Name: "dur", Value: 3 * time.Second, Usage: "`TIME` of each load", Local: true},
							&cli.DurationFlag{Name: "stall", Value: 40 * time.Second, Usage: "`TIME` to wait for a client that never reads to be disconnected", Local: true},
							&cli.BoolFlag{Name: "pin", Value: true, Usage: "keep the server on one processor and all else on another", Local: true},
							&cli.StringFlag{Name: "only", Usage: "`TABLES` to print, between commas: fanout, committed, rate, memory, stalled", Local: true},
						},
						Commands: []*cli.Command{{Name: "process", Hidden: true, Action: c.benchLiveProcess}},
					},
					{
						Name: "visits", Usage: "how well visitors are counted, in how many bytes, and what counting adds to a read, on a Redis of its own", Action: c.benchVisits,
						Flags: []cli.Flag{&cli.IntFlag{Name: "visitors", Value: 1_000_000, Usage: "`NUMBER` of visitors at most, in powers of ten from 1000 on", Local: true}},
					},
					{
						Name: "feedsim", Usage: "what feeds cost that are pushed, pulled or both, by a model of up to a hundred million users; no store is needed", Action: c.benchFeedSim,
						Flags: feedSimFlags(),
					},
					{
						Name: "scroll", Usage: "what readers are shown twice or never who page through a feed while it changes, by ways to page, on a Redis of its own", Action: c.benchScroll,
						Flags: []cli.Flag{
							&cli.IntFlag{Name: "sessions", Value: 2000, Usage: "`NUMBER` of readers of each way under each load", Local: true},
							&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "`NUMBER` that decides the random choices", Local: true},
						},
					},
					{
						Name: "queue", Usage: "in a checkout of Tandian: the queue of sales beside the field's, on redis-servers of its own that it kills", Action: c.benchQueue,
						Flags: []cli.Flag{
							&cli.IntFlag{Name: "messages", Usage: "`NUMBER` of messages of a run, at least 100; 0 for as many as it has by itself", Local: true},
							&cli.StringFlag{Name: "only", Usage: "`TABLES` to print, between commas: cost, losses", Local: true},
						},
					},
					{
						Name: "sequence", Usage: "in a checkout of Tandian: numbers of orders beside the field's", Action: c.benchSequence,
						Flags: []cli.Flag{roleFlag(stateRole), &cli.IntFlag{Name: "rounds", Usage: "`NUMBER` of rounds of the rate; 0 for as many as it has by itself", Local: true}},
					},
					c.serveBenchCommand(),
					c.soakCommand(),
					{
						Name: "redis", Usage: "what a Redis does by itself: GET, SET, a script, a pipeline; not for one that is in use", Action: c.benchRedis,
						Flags: []cli.Flag{roleFlag(stateRole), &cli.DurationFlag{Name: "dur", Value: 3 * time.Second, Usage: "`TIME` of each", Local: true}},
					},
					{
						Name: "redis-delete", Usage: "how long others wait while a large key is deleted; not for a Redis that is in use", Action: c.benchRedisDelete,
						Flags: []cli.Flag{roleFlag(stateRole), &cli.IntFlag{Name: "members", Value: 1_000_000, Usage: "`NUMBER` of members of the key", Local: true}},
					},
				},
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

// benchShops starts a server on the stores, on a free port, and measures it.
func (c *commands) benchShops(ctx context.Context, _ *cli.Command) error {
	c.cfg.Addr = "127.0.0.1:0"
	// A line for each request would be measured too.
	a, err := New(&c.cfg, observe.NewLogger(c.stderr, c.cfg.LogFormat, slog.LevelWarn), io.Discard)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-a.Ready():
	}
	err = bench.Shops(ctx, "http://"+a.Addr(), c.stdout)
	stop()
	return errors.Join(err, <-ended)
}

// benchCache measures on the Redis of the caches, or on a private one. It runs
// this program again as the processes that share a cache.
func (c *commands) benchCache(ctx context.Context, cmd *cli.Command) error {
	again, err := c.again(ctx, "bench", "cache", "process")
	if err != nil {
		return err
	}
	url := cmp.Or(c.cfg.RedisCacheURL, c.cfg.RedisURL)
	return bench.Cache(ctx, bench.CacheConfig{
		RedisURL: url, Dir: ".", Only: cmd.String("only"), Each: cmd.Duration("dur"), Seed: cmd.Uint64("seed"),
		Ours: cachebench.Options{
			RedisURL: url, Reads: cmd.Int64("reads"), Expiries: cmd.Int("expiries"), Seed: cmd.Uint64("seed"),
			Processes: again, Progress: c.stderr,
		},
	}, c.stdout, c.stderr)
}

// benchCacheProcess is one of these processes.
func (c *commands) benchCacheProcess(ctx context.Context, _ *cli.Command) error {
	return cachebench.Process(ctx, os.Stdin, c.stdout)
}

// benchLock measures on the Redis of the state, or on private ones, likewise.
func (c *commands) benchLock(ctx context.Context, cmd *cli.Command) error {
	for _, name := range []string{"handovers", "waiters", "cancelled", "leases"} {
		if cmd.Int(name) < 1 {
			return usageError{fmt.Errorf("--%s is 1 or more", name)}
		}
	}
	again, err := c.again(ctx, "bench", "lock", "process")
	if err != nil {
		return err
	}
	return bench.Lock(ctx, bench.LockConfig{
		RedisURL: c.cfg.RedisURL, DatabaseURL: c.cfg.DatabaseURL, Dir: ".", Only: cmd.String("only"), Rounds: cmd.Int("rounds"),
		Ours: lockbench.Options{
			RedisURL: c.cfg.RedisURL, Handovers: cmd.Int("handovers"), Waiters: cmd.Int("waiters"),
			Cancelled: cmd.Int("cancelled"), Leases: cmd.Int("leases"), Processes: again, Progress: c.stderr,
		},
	}, c.stdout, c.stderr)
}

// benchQueue compares queues, on servers of its own.
func (c *commands) benchQueue(ctx context.Context, cmd *cli.Command) error {
	return bench.Queue(ctx, bench.QueueConfig{Dir: ".", Only: cmd.String("only"), Messages: cmd.Int("messages")}, c.stdout, c.stderr)
}

// benchSequence compares numbers of orders, on the Redis of the state or on a private
// one.
func (c *commands) benchSequence(ctx context.Context, cmd *cli.Command) error {
	return bench.Sequence(ctx, bench.SequenceConfig{
		RedisURL: c.cfg.RedisURL, DatabaseURL: c.cfg.DatabaseURL, Dir: ".", Rounds: cmd.Int("rounds"),
	}, c.stdout, c.stderr)
}

// benchLockProcess is one of its processes.
func (c *commands) benchLockProcess(ctx context.Context, _ *cli.Command) error {
	return lockbench.Process(ctx, os.Stdin, c.stdout)
}

// withHouse opens the stores for one piece of work.
func (c *commands) withHouse(ctx context.Context, work func(*House) error) error {
	h, err := Open(ctx, &c.cfg, c.stdout, newRegistry(), c.log)
	if err != nil {
		return err
	}
	return errors.Join(work(h), h.Close())
}
