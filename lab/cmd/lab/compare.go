package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
	"github.com/tandian-dev/tandian/lab/cachebench"
	"github.com/tandian-dev/tandian/lab/compare/cache"
	"github.com/tandian-dev/tandian/lab/compare/live"
	"github.com/tandian-dev/tandian/lab/compare/lock"
	"github.com/tandian-dev/tandian/lab/compare/queue"
	"github.com/tandian-dev/tandian/lab/compare/redisserver"
	"github.com/tandian-dev/tandian/lab/compare/sale"
	"github.com/tandian-dev/tandian/lab/compare/sequence"
	"github.com/tandian-dev/tandian/lab/lockbench"
	"github.com/tandian-dev/tandian/lab/salebench"
)

// tables holds the choice of a command's tables: its own, and those of a comparison.
type tables struct{ own, others []string }

// chooseTables reads --only. No choice is all of them.
func chooseTables(cmd *cli.Command, own, others []string) (chosen tables, err error) {
	names := words(cmd.String("only"))
	if len(names) == 0 {
		return tables{own, others}, nil
	}
	for _, name := range names {
		switch {
		case slices.Contains(own, name):
			chosen.own = append(chosen.own, name)
		case slices.Contains(others, name):
			chosen.others = append(chosen.others, name)
		default:
			return chosen, refused("unknown table %q (want one of %s)", name, strings.Join(append(own, others...), ", "))
		}
	}
	return chosen, nil
}

// comparisonFlags are the flags that all comparisons have.
func comparisonFlags(tables ...string) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "only", Usage: "`TABLES` to print, between commas: " + strings.Join(tables, ", ")},
		&cli.StringFlag{Name: "scheme", Usage: "compare only schemes with this `TEXT` in their name"},
	}
}

func positive(cmd *cli.Command, names ...string) error {
	for _, name := range names {
		if cmd.Int(name) < 1 {
			return refused("--%s must be at least 1", name)
		}
	}
	return nil
}

func chosenSeed(cmd *cli.Command) uint64 {
	return cmp.Or(cmd.Uint64("seed"), uint64(time.Now().UnixNano())) //nolint:gosec // any number will do
}

const ownTable = "ours"

func (c *commands) cacheBench() *cli.Command {
	return &cli.Command{
		Name: "cache", Usage: "the cache: its cost and its promises, next to other schemes and libraries",
		Flags: slices.Concat(comparisonFlags(append([]string{ownTable}, cache.Tables()...)...), c.settings("redis-url"), []cli.Flag{
			&cli.Int64Flag{Name: "reads", Value: 1_000_000, Usage: "`NUMBER` of strict reads"},
			&cli.IntFlag{Name: "expiries", Value: 100, Usage: "`NUMBER` of expiries of the hot key"},
			&cli.DurationFlag{Name: "dur", Value: 4 * time.Second, Usage: "`TIME` of each scheme in the tables stale and hot"},
			seedFlag("of the random choices"),
		}),
		Action: c.benchCache,
	}
}

func (c *commands) benchCache(ctx context.Context, cmd *cli.Command) error {
	chosen, err := chooseTables(cmd, []string{ownTable}, cache.Tables())
	if err != nil {
		return err
	}
	seed := chosenSeed(cmd)
	if len(chosen.own) > 0 {
		processes, err := c.process(ctx, "cache")
		if err != nil {
			return err
		}
		if err := cachebench.Rows(ctx, cachebench.Options{
			RedisURL: c.cfg.RedisURL, Reads: cmd.Int64("reads"), Expiries: cmd.Int("expiries"), Seed: seed,
			Processes: processes, Progress: c.stderr,
		}, c.stdout); err != nil {
			return fmt.Errorf("measure the cache: %w", err)
		}
	}
	if len(chosen.others) == 0 {
		return nil
	}
	url, stop, err := redisOrOwn(ctx, c.cfg.RedisURL)
	if err != nil {
		return err
	}
	defer stop()
	return cache.Report(ctx, cache.Plan{
		URL: url, During: cmd.Duration("dur"), Seed: seed, Only: chosen.others, Scheme: cmd.String("scheme"),
	}, c.stdout)
}

// redisOrOwn returns url, or that of a server that it starts if url is empty.
func redisOrOwn(ctx context.Context, url string) (_ string, stop func(), err error) {
	if url != "" {
		return url, func() {}, nil
	}
	return redisserver.Start(ctx)
}

func (c *commands) lockBench() *cli.Command {
	return &cli.Command{
		Name: "lock", Usage: "the lock: its cost and its promises, next to other schemes and libraries",
		Flags: slices.Concat(comparisonFlags(append([]string{ownTable}, lock.Tables()...)...), c.settings("redis-url", "database-url"), []cli.Flag{
			&cli.IntFlag{Name: "handovers", Value: 1000, Usage: "`NUMBER` of hand-overs between two processes"},
			&cli.IntFlag{Name: "waiters", Value: 200, Usage: "`NUMBER` of waiters in three processes"},
			&cli.IntFlag{Name: "cancelled", Value: 10_000, Usage: "`NUMBER` of cancelled calls"},
			&cli.IntFlag{Name: "leases", Value: 1000, Usage: "`NUMBER` of held locks when Redis stops"},
			&cli.IntFlag{Name: "rounds", Value: 40, Usage: "`NUMBER` of rounds of the table handover"},
			seedFlag("of the random choices"),
		}),
		Action: c.benchLock,
	}
}

func (c *commands) benchLock(ctx context.Context, cmd *cli.Command) error {
	if err := positive(cmd, "handovers", "waiters", "cancelled", "leases", "rounds"); err != nil {
		return err
	}
	chosen, err := chooseTables(cmd, []string{ownTable}, lock.Tables())
	if err != nil {
		return err
	}
	if len(chosen.own) > 0 {
		processes, err := c.process(ctx, "lock")
		if err != nil {
			return err
		}
		if err := lockbench.Rows(ctx, lockbench.Options{
			RedisURL: c.cfg.RedisURL, Handovers: cmd.Int("handovers"), Waiters: cmd.Int("waiters"),
			Cancelled: cmd.Int("cancelled"), Leases: cmd.Int("leases"), Processes: processes, Progress: c.stderr,
		}, c.stdout); err != nil {
			return fmt.Errorf("measure the lock: %w", err)
		}
	}
	if len(chosen.others) == 0 {
		return nil
	}
	plan := lock.Plan{
		Redis: words(c.cfg.RedisURL), Database: c.cfg.DatabaseURL, Rounds: cmd.Int("rounds"),
		Seed: chosenSeed(cmd), Only: chosen.others, Scheme: cmd.String("scheme"),
	}
	for len(plan.Redis) == 0 || len(plan.Redis) < 3 && c.cfg.RedisURL == "" {
		url, stop, err := redisserver.Start(ctx)
		if err != nil {
			return err
		}
		defer stop()
		plan.Redis = append(plan.Redis, url)
	}
	return lock.Report(ctx, plan, c.stdout)
}

func (c *commands) saleBench() *cli.Command {
	return &cli.Command{
		Name: "sale", Usage: "flash sales from the order to its row, next to other strategies",
		Flags: append(comparisonFlags(append([]string{"http", ownTable}, sale.Tables()...)...),
			&cli.IntFlag{Name: "users", Value: 40_000, Usage: "`NUMBER` of users of a sale, with an item for each"},
			&cli.IntFlag{Name: "rounds", Value: 3, Usage: "`NUMBER` of rounds, an odd one"},
			&cli.DurationFlag{Name: "each", Value: 2 * time.Second, Usage: "`TIME` of a round of one strategy"},
			&cli.IntFlag{Name: "times", Value: 20, Usage: "`NUMBER` of times of each scene of the table wrong"},
			&cli.StringFlag{Name: "profiles", Usage: "`FOLDER` for profiles of the server under load; none if empty"},
		),
		Action: c.benchSale,
	}
}

// benchSale measures flash sales. Its own servers store what they commit on disk.
func (c *commands) benchSale(ctx context.Context, cmd *cli.Command) error {
	chosen, err := chooseTables(cmd, []string{"http", ownTable}, sale.Tables())
	switch {
	case err != nil:
		return err
	case cmd.Int("users") < 1000:
		return refused("--users must be at least 1000")
	case cmd.Int("rounds") < 1 || cmd.Int("rounds")%2 == 0:
		return refused("--rounds must be an odd number")
	case cmd.Duration("each") < 10*time.Millisecond:
		return refused("--each must be at least 10ms")
	case cmd.Int("times") < 1:
		return refused("--times must be at least 1")
	}
	if slices.Contains(chosen.own, "http") {
		if err := c.saleOverHTTP(ctx, cmd); err != nil {
			return err
		}
	}
	if slices.Contains(chosen.own, ownTable) {
		if err := salebench.Rows(ctx, salebench.Options{
			Start: openSaleHouse, Users: cmd.Int("users"), Rounds: cmd.Int("rounds"), Progress: c.stderr,
		}, c.stdout); err != nil {
			return fmt.Errorf("measure flash sales: %w", err)
		}
	}
	if len(chosen.others) == 0 {
		return nil
	}
	pg, err := subprocess.StartPostgres(ctx)
	if err != nil {
		return err
	}
	defer pg.Stop()
	rdb, err := subprocess.StartRedis(ctx, "--appendonly", "yes", "--appendfsync", "everysec")
	if err != nil {
		return err
	}
	defer rdb.Stop()
	return sale.Report(ctx, sale.Plan{
		Redis: rdb.URL, Database: pg.URL, Rounds: cmd.Int("rounds"), Each: cmd.Duration("each"), Times: cmd.Int("times"),
		Only: chosen.others, Scheme: cmd.String("scheme"),
	}, c.stdout)
}

func (c *commands) queueBench() *cli.Command {
	return &cli.Command{
		Name: "queue", Usage: "the queue of flash sales next to other queues, whose consumers and Redis are killed",
		Flags: append(comparisonFlags(queue.Tables()...),
			&cli.IntFlag{Name: "messages", Value: 5000, Usage: "`NUMBER` of messages of a run, at least 100"},
			&cli.IntFlag{Name: "rounds", Value: 5, Usage: "`NUMBER` of rounds of the rates"},
		),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			chosen, err := chooseTables(cmd, nil, queue.Tables())
			if err != nil {
				return err
			}
			if cmd.Int("messages") < 100 {
				return refused("--messages must be at least 100")
			}
			if err := positive(cmd, "rounds"); err != nil {
				return err
			}
			processes, err := c.process(ctx, "queue")
			if err != nil {
				return err
			}
			return queue.Report(ctx, queue.Plan{
				Lab: queue.Lab{Processes: processes, Messages: cmd.Int("messages")}, Rounds: cmd.Int("rounds"),
				Only: chosen.others, Scheme: cmd.String("scheme"),
			}, c.stdout)
		},
	}
}

func (c *commands) sequenceBench() *cli.Command {
	return &cli.Command{
		Name: "sequence", Usage: "the numbers of orders next to other ways to make them",
		Flags: slices.Concat(comparisonFlags(sequence.Tables()...), c.settings("redis-url", "database-url"), []cli.Flag{
			&cli.IntFlag{Name: "rounds", Value: 7, Usage: "`NUMBER` of rounds of the rate"},
			&cli.DurationFlag{Name: "dur", Value: 200 * time.Millisecond, Usage: "`TIME` of a scheme in a round"},
			seedFlag("of the random choices"),
		}),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if _, err := chooseTables(cmd, nil, sequence.Tables()); err != nil {
				return err
			}
			if err := positive(cmd, "rounds"); err != nil {
				return err
			}
			url, stop, err := redisOrOwn(ctx, c.cfg.RedisURL)
			if err != nil {
				return err
			}
			defer stop()
			return sequence.Report(ctx, sequence.Plan{
				Redis: url, Database: cmp.Or(c.cfg.DatabaseURL, os.Getenv("TANDIAN_TEST_DATABASE_URL")), Rounds: cmd.Int("rounds"),
				Each: cmd.Duration("dur"), Seed: chosenSeed(cmd), Scheme: cmd.String("scheme"),
			}, c.stdout)
		},
	}
}

func (c *commands) liveBench() *cli.Command {
	return &cli.Command{
		Name: "live", Usage: "live feeds: the cost of fan-out and of connections, next to centrifuge and gqlgen",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "only", Usage: "`TABLES` to print, between commas: " + strings.Join(live.Tables(), ", ")},
			&cli.StringFlag{Name: "n", Value: "1000,5000", Usage: "`NUMBERS` of subscribers, between commas; the last one is for the table memory"},
			&cli.IntFlag{Name: "rounds", Value: 3, Usage: "`NUMBER` of turns of each contender"},
			&cli.DurationFlag{Name: "dur", Value: 3 * time.Second, Usage: "`TIME` of each load"},
			&cli.DurationFlag{Name: "stall", Value: 40 * time.Second, Usage: "`TIME` to wait until a client that never reads is disconnected"},
			&cli.BoolFlag{Name: "pin", Value: true, Usage: "run the server on one processor and everything else on another"},
			&cli.BoolFlag{Name: "others", Usage: "compare the others without Tandian: no PostgreSQL, and no table committed"},
		},
		Action: c.benchLive,
	}
}

func (c *commands) benchLive(ctx context.Context, cmd *cli.Command) error {
	chosen, err := chooseTables(cmd, nil, live.Tables())
	if err != nil {
		return err
	}
	plan := live.Plan{
		Only: chosen.others, Rounds: cmd.Int("rounds"), Each: cmd.Duration("dur"), Stall: cmd.Duration("stall"), Pin: cmd.Bool("pin"), Progress: c.stderr,
	}
	if err := positive(cmd, "rounds"); err != nil {
		return err
	}
	if plan.Each < 100*time.Millisecond || plan.Stall < time.Second {
		return refused("--dur must be at least 100ms and --stall at least 1s")
	}
	for _, word := range words(cmd.String("n")) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 2 || n > 9000 {
			return refused("--n %s: numbers must be 2 to 9000", cmd.String("n"))
		}
		plan.Subscribers = append(plan.Subscribers, n)
	}
	if len(plan.Subscribers) == 0 {
		return refused("--n needs a number")
	}
	if plan.Self, err = os.Executable(); err != nil {
		return fmt.Errorf("find this program to start it again: %w", err)
	}
	if plan.Pin {
		if err := live.StayApart(); err != nil {
			return fmt.Errorf("%w (--pin=false measures without)", err)
		}
	}
	rdb, err := subprocess.StartRedis(ctx)
	if err != nil {
		return err
	}
	defer rdb.Stop()
	plan.Redis = rdb.URL
	if !cmd.Bool("others") {
		plan.Ours = []string{plan.Self, "process", "live"}
		database, err := subprocess.StartPostgres(ctx)
		if err != nil {
			return err
		}
		defer database.Stop()
		plan.Database = database.URL
	}
	return live.Report(ctx, plan, c.stdout)
}

// errNoStores reports that a command has no Redis to work on.
var errNoStores = usageError{errors.New("--redis-url is required")}
