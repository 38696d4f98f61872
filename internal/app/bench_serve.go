package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/urfave/cli/v3"

	"github.com/tandian-dev/tandian/internal/bench/rig"
	"github.com/tandian-dev/tandian/internal/bench/servebench"
	"github.com/tandian-dev/tandian/internal/kit/measure"
)

// serveBenchCommand is bench serve.
func (c *commands) serveBenchCommand() *cli.Command {
	return &cli.Command{
		Name: "serve", Usage: "what the whole server answers a second beside a bare handler, and what a request costs it and its stores; on a Redis and a PostgreSQL of its own, or at a server that runs", Action: c.benchServe,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "only", Usage: "`NAMES` of works, between commas; all if empty", Local: true},
			&cli.IntFlag{Name: "rounds", Value: 3, Usage: "`NUMBER` of rounds", Local: true},
			&cli.DurationFlag{Name: "dur", Value: 3 * time.Second, Usage: "`TIME` of each load", Local: true},
			&cli.DurationFlag{Name: "tail", Value: 5 * time.Second, Usage: "`TIME` of a load at half of the rate, of which the latency is told; 0 is none", Local: true},
			&cli.IntFlag{Name: "connections", Value: 64, Usage: "`NUMBER` of connections", Local: true},
			&cli.IntFlag{Name: "users", Value: 30_000, Usage: "`NUMBER` of users of its town", Local: true},
			&cli.IntFlag{Name: "shops", Value: 100_000, Usage: "`NUMBER` of shops", Local: true},
			&cli.IntFlag{Name: "notes", Value: 100_000, Usage: "`NUMBER` of notes", Local: true},
			&cli.IntFlag{Name: "follows", Value: 300_000, Usage: "`NUMBER` of follows", Local: true},
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "`NUMBER` that the town is made of", Local: true},
			&cli.StringFlag{Name: "growth", Usage: "`FACTORS` between commas, such as 1,10,100, by which shops and notes are multiplied: what a request costs then, instead of the table", Local: true},
			&cli.StringFlag{Name: "picture", Usage: "`FILE` for a picture of that, in SVG", Local: true},
			&cli.StringFlag{Name: "profiles", Usage: "`FOLDER` for profiles of the server in the last rounds", Local: true},
			&cli.StringFlag{Name: "at", Usage: "`URL` of a server that runs, whose stores --database-url and --redis-url name", Local: true},
			&cli.StringFlag{Name: "tokens", Usage: "`FILE` of sessions there, as tandian seed --tokens writes it", Local: true},
		},
		Commands: []*cli.Command{{Name: "process", Hidden: true, Action: c.benchServeProcess}},
	}
}

// benchServe runs this program again to seed a town, and as the servers.
func (c *commands) benchServe(ctx context.Context, cmd *cli.Command) error {
	if cmd.Int("rounds") < 1 || cmd.Duration("dur") <= 0 || cmd.Int("connections") < 1 {
		return usageError{errors.New("--rounds and --connections are 1 or more, --dur is above 0")}
	}
	var factors []int
	for _, text := range words(cmd.String("growth")) {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || cmd.String("at") != "" {
			return usageError{errors.New("--growth is numbers of 1 or more, and not for a server that runs")}
		}
		factors = append(factors, n)
	}
	if cmd.String("at") != "" && cmd.String("tokens") == "" {
		return usageError{errors.New("--at needs --tokens, the file that tandian seed --tokens wrote for it")}
	}
	again, err := program(ctx)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "tandian-bench-serve-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if profiles := cmd.String("profiles"); profiles != "" {
		if err := os.MkdirAll(profiles, 0o750); err != nil {
			return fmt.Errorf("make a folder for profiles: %w", err)
		}
	}
	o := servebench.Options{
		Again: again,
		Town:  rig.Town{Users: cmd.Int("users"), Shops: cmd.Int("shops"), Notes: cmd.Int("notes"), Follows: cmd.Int("follows"), Seed: cmd.Uint64("seed")},
		Only:  words(cmd.String("only")), Connections: cmd.Int("connections"), Rounds: cmd.Int("rounds"), Dur: cmd.Duration("dur"), Tail: cmd.Duration("tail"),
		Without: c.cfg.Without, Profiles: cmd.String("profiles"), Dir: dir, Progress: c.stderr,
		At: cmd.String("at"), Tokens: cmd.String("tokens"),
	}
	if o.At != "" {
		o.DatabaseURL, o.RedisURL = c.cfg.DatabaseURL, c.cfg.RedisURL
	}
	if len(factors) > 0 {
		return servebench.Growth(ctx, o, factors, cmd.String("picture"), c.stdout)
	}
	return servebench.Run(ctx, o, c.stdout)
}

// words are what stands between commas.
func words(list string) []string {
	var all []string
	for word := range strings.SplitSeq(list, ",") {
		if word = strings.TrimSpace(word); word != "" {
			all = append(all, word)
		}
	}
	return all
}

// benchServeProcess is one of the servers, or the bare one: both with the memory that serve
// takes.
func (c *commands) benchServeProcess(ctx context.Context, _ *cli.Command) error {
	boundMemory()
	return rig.Process(ctx, os.Stdin, c.stdout, func(ctx context.Context, _ rig.Setting) (string, error) {
		return startMeasured(ctx, &c.cfg, c.log)
	})
}

// benchRedis measures the Redis of a role, or one of its own without --redis-url.
func (c *commands) benchRedis(ctx context.Context, cmd *cli.Command) error {
	open := func() (redis.UniversalClient, error) { return c.openTool(ctx, cmd.String("role")) }
	if c.cfg.RedisURL == "" {
		private, err := measure.StartRedis(ctx, "--appendonly", "yes", "--appendfsync", "everysec")
		if err != nil {
			return err
		}
		defer private.Stop()
		open = func() (redis.UniversalClient, error) { return measure.OpenPatient(private.URL) }
	}
	rdb, err := open()
	if err != nil {
		return err
	}
	defer func() { _ = rdb.Close() }()
	return measure.Table(ctx, "bench redis", []measure.Measurement{{Name: "commands", Measure: func(ctx context.Context) ([]measure.Row, error) {
		return rig.RedisCeiling(ctx, rdb, c.cfg.RedisPrefix+":bench", cmd.Duration("dur"))
	}}}, c.stdout, c.stderr)
}
