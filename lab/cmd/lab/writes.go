package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tandian-dev/tandian/internal/kit/cmdline"
	"github.com/tandian-dev/tandian/lab/servebench"
	"github.com/tandian-dev/tandian/lab/testbed"
)

func (c *commands) writesBench() *cobra.Command {
	return newCommand(spec{
		Use: "writes", Short: "compare writes with pgbench: calls per second and CPU per call", Run: c.benchWrites,
		Long: "It starts a server with its own Redis and PostgreSQL. Each round runs pgbench, which must be\n" +
			"installed, and then each operation.",
		Flags: func(f *pflag.FlagSet) {
			c.settings(f, "without")
			f.String("only", "", "measure only operations with these `NAMES`, comma-separated; all if empty")
			f.Int("rounds", 3, "run `NUMBER` rounds")
			f.Duration("dur", 3*time.Second, "run each load for `TIME`")
			f.Duration("warmup", time.Second/2, "run each load for `TIME` before the first round; 0 disables it")
			f.Int("connections", 64, "open `NUMBER` connections")
			f.Int("users", 20_000, "create `NUMBER` users")
			f.Int("shops", 2000, "create `NUMBER` shops")
			f.Int("notes", 10_000, "create `NUMBER` notes")
			f.Int("follows", 100_000, "create `NUMBER` follows")
			f.Uint64("seed", 1, "seed the generated data with `NUMBER`")
			f.String("profiles", "", "write server profiles of the last round to `FOLDER`; none if empty")
		},
	})
}

// benchWrites starts this program to generate data and as servers.
func (c *commands) benchWrites(ctx context.Context, cmd *call) error {
	if cmd.Int("rounds") < 1 || cmd.Duration("dur") <= 0 || cmd.Int("connections") < 1 || cmd.Int("users") < 300 {
		return cmdline.Refuse("--rounds and --connections must be at least 1, --users at least 300, --dur above 0")
	}
	only := words(cmd.String("only"))
	if err := servebench.CheckWrites(only); err != nil {
		return cmdline.UsageError{Err: err}
	}
	processes, err := selfCommand(ctx)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "tandian-bench-writes-")
	if err != nil {
		return fmt.Errorf("create folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if profiles := cmd.String("profiles"); profiles != "" {
		if err := os.MkdirAll(profiles, 0o750); err != nil {
			return fmt.Errorf("create folder for profiles: %w", err)
		}
	}
	return servebench.Writes(ctx, servebench.Options{
		Command: processes,
		Town:    testbed.Town{Users: cmd.Int("users"), Shops: cmd.Int("shops"), Notes: cmd.Int("notes"), Follows: cmd.Int("follows"), Seed: cmd.Uint64("seed")},
		Only:    only, Connections: cmd.Int("connections"), Rounds: cmd.Int("rounds"), Dur: cmd.Duration("dur"), Warm: cmd.Duration("warmup"),
		Without: c.cfg.Without, Profiles: cmd.String("profiles"), Dir: dir, Progress: c.stderr,
	}, c.stdout)
}
