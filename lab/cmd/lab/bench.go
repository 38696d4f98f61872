package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tandian-dev/tandian/internal/app"
	"github.com/tandian-dev/tandian/internal/kit/cmdline"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/progress"
	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
	"github.com/tandian-dev/tandian/lab/bench"
	"github.com/tandian-dev/tandian/lab/harness"
	"github.com/tandian-dev/tandian/lab/testbed"
)

func (c *commands) benchCommand() *cobra.Command {
	return cmdline.Group(
		"bench COMMAND", "run benchmarks and print tables",
		c.serveBench(),
		c.writesBench(),
		c.filtersBench(),
		c.cacheBench(),
		c.lockBench(),
		c.saleBench(),
		c.queueBench(),
		c.sequenceBench(),
		c.liveBench(),
		newCommand(spec{
			Use: "notes", Short: "measure publishing and liking notes", Run: c.benchNotes,
			Flags: func(f *pflag.FlagSet) {
				f.Int("clients", 16, "run `NUMBER` concurrent clients")
				f.Int("rows", 20_000, "write `NUMBER` rows for each line of the table")
			},
		}),
		newCommand(spec{
			Use: "feed", Short: "measure publishing to many followers, fan-out and feed pages", Run: c.benchFeed,
			Flags: func(f *pflag.FlagSet) {
				f.Int("clients", 16, "run `NUMBER` concurrent readers")
				f.Int("followers", 99_000, "give the author with fan-out `NUMBER` followers, less than 100000")
				f.Int("fans", 1_000_000, "give the celebrity `NUMBER` followers, more than --followers")
				f.Int("rounds", 61, "publish `NUMBER` notes by each author")
				f.Int("pages", 10_000, "read each kind of page `NUMBER` times")
			},
		}),
		newCommand(spec{
			Use: "paging", Short: "count gaps and repeats of paging methods in a changing feed", Run: c.benchPaging,
			Flags: func(f *pflag.FlagSet) {
				f.Int("sessions", 2000, "run `NUMBER` readers per method and load")
				f.Uint64("seed", 1, "seed the random choices with `NUMBER`")
			},
		}),
		newCommand(spec{
			Use: "feedsim", Short: "compute the cost of feeds by push, pull or both; needs no store", Run: c.benchFeedSim, Flags: feedSimFlags,
		}),
		newCommand(spec{
			Use: "visits", Short: "measure visitor counting: accuracy, memory and cost per read", Run: c.benchVisits,
			Flags: func(f *pflag.FlagSet) {
				f.Int("visitors", 1_000_000, "count 1000, 10000, … visitors, at most `NUMBER`")
			},
		}),
		newCommand(spec{
			Use: "shops", Short: "measure shop queries: lists, near a place, searches", Run: c.benchShops, Before: c.checkSettings,
			Long: "It starts a server in this process, with the stores of the flags.",
			Flags: func(f *pflag.FlagSet) {
				c.settings(f, "data-dir", "database-url", "redis-url", "redis-cache-url", "redis-prefix")
			},
		}),
		newCommand(spec{
			Use: "redis", Short: "measure bare Redis commands; not for a Redis in use", Run: c.benchRedis,
			Flags: func(f *pflag.FlagSet) {
				c.settings(f, "redis-url", "redis-prefix")
				f.Duration("dur", 3*time.Second, "run each command for `TIME`")
			},
		}),
		newCommand(spec{
			Use: "redis-delete", Short: "measure the delay that deleting a large key causes; not for a Redis in use", Run: c.benchRedisDelete,
			Flags: func(f *pflag.FlagSet) {
				c.settings(f, "redis-url", "redis-prefix")
				f.Int("members", 1_000_000, "delete a key with `NUMBER` members")
			},
		}),
	)
}

// benchShops measures a server in this process, on a free port.
func (c *commands) benchShops(ctx context.Context, _ *call) error {
	c.cfg.Addr = "127.0.0.1:0"
	// A log line per request would distort the measurement.
	a, err := app.New(&c.cfg, observe.NewLogger(c.stderr, c.cfg.LogFormat, slog.LevelWarn), io.Discard)
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

// benchRedis measures the Redis of --redis-url, or a private one.
func (c *commands) benchRedis(ctx context.Context, cmd *call) error {
	url := c.cfg.RedisURL
	if url == "" {
		own, err := subprocess.StartRedis(ctx, "--appendonly", "yes", "--appendfsync", "everysec")
		if err != nil {
			return err
		}
		defer own.Stop()
		url = own.URL
	}
	rdb, err := openRedis(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = rdb.Close() }()
	return harness.Table(ctx, "bench redis", []harness.Measurement{{Name: "commands", Measure: func(ctx context.Context) ([]harness.Row, error) {
		return testbed.RedisCeiling(ctx, rdb, c.cfg.RedisPrefix+":bench", cmd.Duration("dur"))
	}}}, c.stdout, c.stderr)
}

// openRedis opens a client with long time-outs and checks that the Redis replies.
func openRedis(ctx context.Context, url string) (redis.UniversalClient, error) {
	rdb, err := subprocess.OpenPatient(url)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := rdb.Ping(ctx).Err(); err != nil {
		return nil, errors.Join(fmt.Errorf("reach Redis: %w", err), rdb.Close())
	}
	return rdb, nil
}

func (c *commands) benchRedisDelete(ctx context.Context, cmd *call) error {
	if err := positive(cmd, "members"); err != nil {
		return err
	}
	if c.cfg.RedisURL == "" {
		return cmdline.Refuse("--redis-url is required")
	}
	// Two clients: the probe must not wait for a pooled connection.
	var clients [2]redis.UniversalClient
	for i := range clients {
		rdb, err := openRedis(ctx, c.cfg.RedisURL)
		if err != nil {
			return err
		}
		defer func() { _ = rdb.Close() }()
		clients[i] = rdb
	}
	return bench.RedisDelete(ctx, bench.RedisDeletePlan{
		Work: clients[0], Probe: clients[1], Prefix: c.cfg.RedisPrefix, Members: cmd.Int("members"),
		Progress: func(what string, total int) bench.Progress { return progress.New(c.stderr, what, total) },
	}, c.stdout)
}
