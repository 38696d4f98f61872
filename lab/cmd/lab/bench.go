package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/urfave/cli/v3"

	"github.com/tandian-dev/tandian/internal/app"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
	"github.com/tandian-dev/tandian/internal/town"
	"github.com/tandian-dev/tandian/lab/bench"
	"github.com/tandian-dev/tandian/lab/harness"
	"github.com/tandian-dev/tandian/lab/testbed"
)

func (c *commands) benchCommand() *cli.Command {
	return &cli.Command{
		Name: "bench", Usage: "print tables of figures, as in docs/benchmarks.md",
		Commands: []*cli.Command{
			c.serveBench(),
			c.cacheBench(),
			c.lockBench(),
			c.saleBench(),
			c.queueBench(),
			c.sequenceBench(),
			c.liveBench(),
			{
				Name: "notes", Usage: "publishing and liking notes", Action: c.benchNotes,
				Flags: []cli.Flag{
					&cli.IntFlag{Name: "clients", Value: 16, Usage: "`NUMBER` of concurrent clients"},
					&cli.IntFlag{Name: "rows", Value: 20_000, Usage: "`NUMBER` of writes of each row of the table"},
				},
			},
			{
				Name: "feed", Usage: "publishing to many followers, fan-out and pages of feeds", Action: c.benchFeed,
				Flags: []cli.Flag{
					&cli.IntFlag{Name: "clients", Value: 16, Usage: "`NUMBER` of concurrent readers"},
					&cli.IntFlag{Name: "followers", Value: 99_000, Usage: "`NUMBER` of followers of an author with fan-out, less than 100000"},
					&cli.IntFlag{Name: "fans", Value: 1_000_000, Usage: "`NUMBER` of followers of a celebrity, more than --followers"},
					&cli.IntFlag{Name: "rounds", Value: 61, Usage: "`NUMBER` of notes of each author"},
					&cli.IntFlag{Name: "pages", Value: 10_000, Usage: "`NUMBER` of reads of each kind of page"},
				},
			},
			{
				Name: "paging", Usage: "gaps and repeats of ways to page through a feed that changes", Action: c.benchPaging,
				Flags: []cli.Flag{
					&cli.IntFlag{Name: "sessions", Value: 2000, Usage: "`NUMBER` of readers of each way under each load"},
					&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "`NUMBER` that decides the random choices"},
				},
			},
			{
				Name: "feedsim", Usage: "a model of the cost of feeds by push, pull or both; needs no store", Action: c.benchFeedSim,
				Flags: feedSimFlags(),
			},
			{
				Name: "visits", Usage: "counting visitors: accuracy, memory and the cost of a read", Action: c.benchVisits,
				Flags: []cli.Flag{&cli.IntFlag{Name: "visitors", Value: 1_000_000, Usage: "largest `NUMBER` of visitors, in powers of ten from 1000"}},
			},
			{
				Name: "shops", Usage: "finding shops: lists, near a place, searches", Action: c.benchShops, Before: c.checkSettings,
				Description: "It starts a server in this process, on the stores that the flags name.",
				Flags:       c.settings("data-dir", "database-url", "redis-url", "redis-cache-url", "redis-prefix"),
			},
			{
				Name: "redis", Usage: "the commands of Redis alone; not for a Redis in use", Action: c.benchRedis,
				Flags: append(c.settings("redis-url", "redis-prefix"), &cli.DurationFlag{Name: "dur", Value: 3 * time.Second, Usage: "`TIME` of each command"}),
			},
			{
				Name: "redis-delete", Usage: "the delay that deleting a large key causes others; not for a Redis in use", Action: c.benchRedisDelete,
				Flags: append(c.settings("redis-url", "redis-prefix"), &cli.IntFlag{Name: "members", Value: 1_000_000, Usage: "`NUMBER` of members of the key"}),
			},
		},
	}
}

// benchShops starts a server on the stores, on a free port, and measures it.
func (c *commands) benchShops(ctx context.Context, _ *cli.Command) error {
	c.cfg.Addr = "127.0.0.1:0"
	// A line for each request would be measured too.
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

// benchRedis measures the Redis of --redis-url, or one of its own.
func (c *commands) benchRedis(ctx context.Context, cmd *cli.Command) error {
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

// openRedis opens a patient client of a Redis that answers.
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

func (c *commands) benchRedisDelete(ctx context.Context, cmd *cli.Command) error {
	if err := positive(cmd, "members"); err != nil {
		return err
	}
	if c.cfg.RedisURL == "" {
		return errNoStores
	}
	// Two clients, because the probe must not wait for a connection of the other's pool.
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
		Progress: func(what string, total int) bench.Progress { return town.NewProgress(c.stderr, what, total) },
	}, c.stdout)
}
