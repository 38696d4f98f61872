package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tandian-dev/tandian/internal/kit/cmdline"
	"github.com/tandian-dev/tandian/internal/web"
	"github.com/tandian-dev/tandian/lab/soak"
)

func (c *commands) soakCommand() *cobra.Command {
	return newCommand(spec{
		Use: "soak", Short: "run a mixed load on two servers while Redis restarts", Run: c.soak,
		Long: "It prints latencies, cache hits and memory with their goals, and draws a chart. The exit code\nis 1 if a goal was missed.",
		Flags: func(f *pflag.FlagSet) {
			f.Duration("dur", 10*time.Minute, "run the load for `TIME`")
			f.Float64("rate", 150, "start `NUMBER` actions per second, even if the servers fall behind; flash sales add more")
			f.Uint64("seed", 1, "seed the actions with `NUMBER`")
			f.Int("users", 20_000, "create `NUMBER` users")
			f.Int("shops", 20_000, "create `NUMBER` shops")
			f.Int("notes", 40_000, "create `NUMBER` notes")
			f.Int("follows", 200_000, "create `NUMBER` follows")
			f.Int("sockets", 100, "subscribe `NUMBER` users to live feeds")
			f.String("faults", "state,cache", "restart the Redis servers with these `ROLES`: state, cache; none if empty")
			f.String("out", "tmp/soak", "write the chart and the server logs to `FOLDER`")
		},
	})
}

// soak starts this program to generate data and as servers.
func (c *commands) soak(ctx context.Context, cmd *call) error {
	faults := words(cmd.String("faults"))
	for _, f := range faults {
		if !slices.Contains(soak.Faults(), f) {
			return cmdline.Refuse("unknown fault %q (want one of %v)", f, soak.Faults())
		}
	}
	if cmd.Duration("dur") < 5*time.Second || cmd.Float("rate") <= 0 || cmd.Int("users") < 100 || cmd.Int("shops") < 100 || cmd.Int("notes") < 100 {
		return cmdline.Refuse("--dur must be at least 5s, --users, --shops and --notes at least 100, --rate above 0")
	}
	site, err := web.New()
	if err != nil {
		return fmt.Errorf("open web app: %w", err)
	}
	processes, err := selfCommand(ctx)
	if err != nil {
		return err
	}
	return soak.Run(ctx, soak.Options{
		Command:   processes,
		Documents: site.Documents(), Dir: cmd.String("out"), Dur: cmd.Duration("dur"), Rate: cmd.Float("rate"), Seed: cmd.Uint64("seed"),
		Users: cmd.Int("users"), Shops: cmd.Int("shops"), Notes: cmd.Int("notes"), Follows: cmd.Int("follows"), Sockets: cmd.Int("sockets"),
		Faults: faults, Progress: c.stderr,
	}, c.stdout)
}
