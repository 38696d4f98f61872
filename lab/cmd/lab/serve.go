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
		Use: "serve", Short: "measure the server next to a bare handler: requests a second, and the cost of each", Run: c.benchServe,
		Long: "It starts a server on a Redis and a PostgreSQL of its own, or measures a running one (--at).",
		Flags: func(f *pflag.FlagSet) {
			c.settings(f, "database-url", "redis-url", "without")
			f.String("only", "", "measure requests with these `NAMES`, between commas; all if empty")
			f.Int("rounds", 3, "run `NUMBER` rounds")
			f.Duration("dur", 3*time.Second, "run each load for `TIME`")
			f.Duration("tail", 5*time.Second, "measure latency at half of the rate for `TIME`; 0 is none")
			f.Int("connections", 64, "open `NUMBER` connections")
			f.Int("users", 30_000, "create `NUMBER` users")
			f.Int("shops", 100_000, "create `NUMBER` shops")
			f.Int("notes", 100_000, "create `NUMBER` notes")
			f.Int("follows", 300_000, "create `NUMBER` follows")
			f.Uint64("seed", 1, "make the data that belongs to `NUMBER`")
			f.String("growth", "", "multiply shops and notes by `FACTORS`, such as 1,10,100, and print the cost of a request at each")
			f.String("picture", "", "write an SVG picture of --growth to `FILE`")
			f.String("profiles", "", "write profiles of the server in the last rounds to `FOLDER`")
			f.String("at", "", "measure the running server at `URL`; --database-url and --redis-url name its stores")
			f.String("tokens", "", "read its sessions from `FILE`, which tandian seed --tokens writes")
		},
	})
}

// benchServe runs this program again to seed a town, and as the servers.
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
		return cmdline.Refuse("--at needs --tokens, the file that tandian seed --tokens wrote for it")
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
