package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tandian-dev/tandian/internal/kit/cmdline"
	"github.com/tandian-dev/tandian/lab/servebench"
	"github.com/tandian-dev/tandian/lab/testbed"
)

func (c *commands) serveBench() *cobra.Command {
	return newCommand(spec{
		Use: "serve", Short: "compare the server with a bare handler: requests per second and CPU per request", Run: c.benchServe,
		Long: "It starts a server with its own Redis and PostgreSQL, or measures a running one (--at).",
		Flags: func(f *pflag.FlagSet) {
			c.settings(f, "database-url", "redis-url", "without")
			f.String("only", "", "measure only requests with these `NAMES`, comma-separated; all if empty")
			f.Int("rounds", 3, "run `NUMBER` rounds")
			f.Duration("dur", 3*time.Second, "run each load for `TIME`")
			f.Duration("tail", 5*time.Second, "measure latency at half of the rate for `TIME`; 0 disables it")
			f.Int("connections", 64, "open `NUMBER` connections")
			f.Int("users", 30_000, "create `NUMBER` users")
			f.Int("shops", 100_000, "create `NUMBER` shops")
			f.Int("notes", 100_000, "create `NUMBER` notes")
			f.Int("follows", 300_000, "create `NUMBER` follows")
			f.Uint64("seed", 1, "seed the generated data with `NUMBER`")
			f.String("growth", "", "multiply shops and notes by each of `FACTORS`, such as 1,10,100, and compare costs")
			f.String("picture", "", "write an SVG chart of --growth to `FILE`")
			f.String("profiles", "", "write server profiles of the last rounds to `FOLDER`; none if empty")
			f.String("at", "", "measure the running server at `URL`, with the stores of --database-url and --redis-url")
			f.String("tokens", "", "read sessions from `FILE`, written by tandian seed --tokens")
		},
	})
}

// benchServe starts this program to generate data and as servers.
func (c *commands) benchServe(ctx context.Context, cmd *call) error {
	if cmd.Int("rounds") < 1 || cmd.Duration("dur") <= 0 || cmd.Int("connections") < 1 {
		return cmdline.Refuse("--rounds and --connections must be at least 1, --dur above 0")
	}
	var factors []int
	for _, text := range words(cmd.String("growth")) {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || cmd.String("at") != "" {
			return cmdline.Refuse("--growth must be numbers of at least 1, and excludes --at")
		}
		factors = append(factors, n)
	}
	if cmd.String("at") != "" && cmd.String("tokens") == "" {
		return cmdline.Refuse("--at needs --tokens, a file written by tandian seed --tokens")
	}
	processes, err := selfCommand(ctx)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "tandian-bench-serve-")
	if err != nil {
		return fmt.Errorf("create folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if profiles := cmd.String("profiles"); profiles != "" {
		if err := os.MkdirAll(profiles, 0o750); err != nil {
			return fmt.Errorf("create folder for profiles: %w", err)
		}
	}
	o := servebench.Options{
		Command: processes,
		Town:    testbed.Town{Users: cmd.Int("users"), Shops: cmd.Int("shops"), Notes: cmd.Int("notes"), Follows: cmd.Int("follows"), Seed: cmd.Uint64("seed")},
		Only:    words(cmd.String("only")), Connections: cmd.Int("connections"), Rounds: cmd.Int("rounds"), Dur: cmd.Duration("dur"), Tail: cmd.Duration("tail"),
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
