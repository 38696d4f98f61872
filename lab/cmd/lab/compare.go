package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tandian-dev/tandian/internal/kit/cmdline"
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

// tables holds the chosen tables of a command: own measurements and comparisons.
type tables struct{ own, others []string }

// chooseTables reads --only. An empty choice selects all tables.
func chooseTables(cmd *call, own, others []string) (chosen tables, err error) {
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
			return chosen, cmdline.Refuse("unknown table %q (want one of %s)", name, strings.Join(append(own, others...), ", "))
		}
	}
	return chosen, nil
}

// comparisonFlags adds the flags of all comparisons.
func comparisonFlags(f *pflag.FlagSet, tables ...string) {
	f.String("only", "", "print only these `TABLES`, comma-separated: "+strings.Join(tables, ", "))
	f.String("scheme", "", "compare only schemes whose name contains `TEXT`")
}

func positive(cmd *call, names ...string) error {
	for _, name := range names {
		if cmd.Int(name) < 1 {
			return cmdline.Refuse("--%s must be at least 1", name)
		}
	}
	return nil
}

func chosenSeed(cmd *call) uint64 {
	return cmp.Or(cmd.Uint64("seed"), uint64(time.Now().UnixNano())) //nolint:gosec // any number will do
}

const ownTable = "ours"

func (c *commands) cacheBench() *cobra.Command {
	return newCommand(spec{
		Use: "cache", Short: "measure the cache and check its guarantees, next to other schemes and libraries",
		Flags: func(f *pflag.FlagSet) {
			comparisonFlags(f, append([]string{ownTable}, cache.Tables()...)...)
			c.settings(f, "redis-url")
			f.Int64("reads", 1_000_000, "make `NUMBER` reads in strict mode")
			f.Int("expiries", 100, "expire the hot key `NUMBER` times")
			f.Duration("dur", 4*time.Second, "run each scheme for `TIME` in the tables stale and hot")
			seedFlag(f, "seed the random choices with `NUMBER`")
		},
		Run: c.benchCache,
	})
}

func (c *commands) benchCache(ctx context.Context, cmd *call) error {
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
			return fmt.Errorf("measure cache: %w", err)
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

// redisOrOwn returns url, or starts a Redis and returns its URL if url is empty.
func redisOrOwn(ctx context.Context, url string) (_ string, stop func(), err error) {
	if url != "" {
		return url, func() {}, nil
	}
	return redisserver.Start(ctx)
}

func (c *commands) lockBench() *cobra.Command {
	return newCommand(spec{
		Use: "lock", Short: "measure the lock and check its guarantees, next to other schemes and libraries",
		Flags: func(f *pflag.FlagSet) {
			comparisonFlags(f, append([]string{ownTable}, lock.Tables()...)...)
			c.settings(f, "redis-url", "database-url")
			f.Int("handovers", 1000, "hand the lock over `NUMBER` times between two processes")
			f.Int("waiters", 16, "run `NUMBER` waiters of one lock in several processes")
			f.Int("cancelled", 10_000, "cancel `NUMBER` calls")
			f.Int("leases", 1000, "hold `NUMBER` locks when Redis stops")
			f.Int("rounds", 40, "run `NUMBER` rounds for the table handover")
			seedFlag(f, "seed the random choices with `NUMBER`")
		},
		Run: c.benchLock,
	})
}

func (c *commands) benchLock(ctx context.Context, cmd *call) error {
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
			return fmt.Errorf("measure lock: %w", err)
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

func (c *commands) saleBench() *cobra.Command {
	return newCommand(spec{
		Use: "sale", Short: "measure flash sales from the order to its row, next to other strategies",
		Flags: func(f *pflag.FlagSet) {
			comparisonFlags(f, append([]string{"http", ownTable}, sale.Tables()...)...)
			f.Int("users", 40_000, "sell one item to each of `NUMBER` users")
			f.Int("rounds", 3, "run `NUMBER` rounds, an odd number")
			f.Duration("each", 2*time.Second, "run each strategy for `TIME` in a round")
			f.Int("times", 20, "run each scene `NUMBER` times in the table wrong")
			f.String("profiles", "", "write profiles of the loaded server to `FOLDER`; none if empty")
		},
		Run: c.benchSale,
	})
}

// benchSale measures flash sales on private, durable stores.
func (c *commands) benchSale(ctx context.Context, cmd *call) error {
	chosen, err := chooseTables(cmd, []string{"http", ownTable}, sale.Tables())
	switch {
	case err != nil:
		return err
	case cmd.Int("users") < 1000:
		return cmdline.Refuse("--users must be at least 1000")
	case cmd.Int("rounds") < 1 || cmd.Int("rounds")%2 == 0:
		return cmdline.Refuse("--rounds must be an odd number")
	case cmd.Duration("each") < 10*time.Millisecond:
		return cmdline.Refuse("--each must be at least 10ms")
	case cmd.Int("times") < 1:
		return cmdline.Refuse("--times must be at least 1")
	}
	if slices.Contains(chosen.own, "http") {
		if err := c.saleOverHTTP(ctx, cmd); err != nil {
			return err
		}
	}
	if slices.Contains(chosen.own, ownTable) {
		if err := salebench.Rows(ctx, salebench.Options{
			Start: openSaleServer, Users: cmd.Int("users"), Rounds: cmd.Int("rounds"), Progress: c.stderr,
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

func (c *commands) queueBench() *cobra.Command {
	return newCommand(spec{
		Use: "queue", Short: "compare the flash sale queue with others while consumers and Redis are killed",
		Flags: func(f *pflag.FlagSet) {
			comparisonFlags(f, queue.Tables()...)
			f.Int("messages", 5000, "send `NUMBER` messages per run, at least 100")
			f.Int("rounds", 5, "measure rates in `NUMBER` rounds")
		},
		Run: func(ctx context.Context, cmd *call) error {
			chosen, err := chooseTables(cmd, nil, queue.Tables())
			if err != nil {
				return err
			}
			if cmd.Int("messages") < 100 {
				return cmdline.Refuse("--messages must be at least 100")
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
	})
}

func (c *commands) sequenceBench() *cobra.Command {
	return newCommand(spec{
		Use: "sequence", Short: "compare order numbers with other generators",
		Flags: func(f *pflag.FlagSet) {
			comparisonFlags(f, sequence.Tables()...)
			c.settings(f, "redis-url", "database-url")
			f.Int("rounds", 7, "measure the rate in `NUMBER` rounds")
			f.Duration("dur", 200*time.Millisecond, "run each scheme for `TIME` in a round")
			seedFlag(f, "seed the random choices with `NUMBER`")
		},
		Run: func(ctx context.Context, cmd *call) error {
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
	})
}

func (c *commands) liveBench() *cobra.Command {
	return newCommand(spec{
		Use: "live", Short: "measure fan-out and connections of live feeds, next to centrifuge and gqlgen",
		Flags: func(f *pflag.FlagSet) {
			f.String("only", "", "print only these `TABLES`, comma-separated: "+strings.Join(live.Tables(), ", "))
			f.String("n", "1000,5000", "run these `NUMBERS` of subscribers, comma-separated; the table memory uses the last")
			f.Int("rounds", 3, "give each contender `NUMBER` turns")
			f.Duration("dur", 3*time.Second, "run each load for `TIME`")
			f.Duration("stall", 40*time.Second, "wait at most `TIME` until a client that never reads is disconnected")
			f.Bool("pin", true, "run the server on one CPU and everything else on another")
			f.Bool("others", false, "compare without Tandian: no PostgreSQL, no table committed")
		},
		Run: c.benchLive,
	})
}

func (c *commands) benchLive(ctx context.Context, cmd *call) error {
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
		return cmdline.Refuse("--dur must be at least 100ms and --stall at least 1s")
	}
	for _, word := range words(cmd.String("n")) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 2 || n > 9000 {
			return cmdline.Refuse("--n %s: numbers must be 2 to 9000", cmd.String("n"))
		}
		plan.Subscribers = append(plan.Subscribers, n)
	}
	if len(plan.Subscribers) == 0 {
		return cmdline.Refuse("--n needs a number")
	}
	if plan.Self, err = os.Executable(); err != nil {
		return fmt.Errorf("find own executable: %w", err)
	}
	if plan.Pin {
		if err := live.PinToOtherCPU(); err != nil {
			return fmt.Errorf("%w (or use --pin=false)", err)
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
