package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/tandian-dev/tandian/lab/servebench"
	"github.com/tandian-dev/tandian/lab/testbed"
)

func (c *commands) serveBench() *cli.Command {
	return &cli.Command{
		Name: "serve", Usage: "the whole server next to a bare handler: requests a second, and the cost of each", Action: c.benchServe,
		Description: "It starts a server on a Redis and a PostgreSQL of its own, or measures a running one (--at).",
		Flags: append(c.settings("database-url", "redis-url", "without"), []cli.Flag{
			&cli.StringFlag{Name: "only", Usage: "`NAMES` of requests, between commas; all if empty"},
			&cli.IntFlag{Name: "rounds", Value: 3, Usage: "`NUMBER` of rounds"},
			&cli.DurationFlag{Name: "dur", Value: 3 * time.Second, Usage: "`TIME` of each load"},
			&cli.DurationFlag{Name: "tail", Value: 5 * time.Second, Usage: "`TIME` of a load at half of the rate, for the latency; 0 is none"},
			&cli.IntFlag{Name: "connections", Value: 64, Usage: "`NUMBER` of connections"},
			&cli.IntFlag{Name: "users", Value: 30_000, Usage: "`NUMBER` of users"},
			&cli.IntFlag{Name: "shops", Value: 100_000, Usage: "`NUMBER` of shops"},
			&cli.IntFlag{Name: "notes", Value: 100_000, Usage: "`NUMBER` of notes"},
			&cli.IntFlag{Name: "follows", Value: 300_000, Usage: "`NUMBER` of follows"},
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "`NUMBER` that decides the data"},
			&cli.StringFlag{Name: "growth", Usage: "`FACTORS`, such as 1,10,100, to multiply shops and notes by: prints the cost of a request at each"},
			&cli.StringFlag{Name: "picture", Usage: "`FILE` for an SVG picture of --growth"},
			&cli.StringFlag{Name: "profiles", Usage: "`FOLDER` for profiles of the server in the last rounds"},
			&cli.StringFlag{Name: "at", Usage: "`URL` of a running server; --database-url and --redis-url name its stores"},
			&cli.StringFlag{Name: "tokens", Usage: "`FILE` of sessions there, as tandian seed --tokens writes it"},
		}...),
	}
}

// benchServe runs this program again to seed a town, and as the servers.
func (c *commands) benchServe(ctx context.Context, cmd *cli.Command) error {
	if cmd.Int("rounds") < 1 || cmd.Duration("dur") <= 0 || cmd.Int("connections") < 1 {
		return refused("--rounds and --connections must be at least 1, --dur above 0")
	}
	var factors []int
	for _, text := range words(cmd.String("growth")) {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || cmd.String("at") != "" {
			return refused("--growth must be numbers of at least 1, and excludes --at")
		}
		factors = append(factors, n)
	}
	if cmd.String("at") != "" && cmd.String("tokens") == "" {
		return refused("--at needs --tokens, the file that tandian seed --tokens wrote for it")
	}
	processes, err := again(ctx)
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
		Again: processes,
		Town:  testbed.Town{Users: cmd.Int("users"), Shops: cmd.Int("shops"), Notes: cmd.Int("notes"), Follows: cmd.Int("follows"), Seed: cmd.Uint64("seed")},
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
