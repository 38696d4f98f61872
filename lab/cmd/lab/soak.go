package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/tandian-dev/tandian/internal/web"
	"github.com/tandian-dev/tandian/lab/soak"
)

func (c *commands) soakCommand() *cli.Command {
	return &cli.Command{
		Name: "soak", Usage: "load two servers with the actions of many users while Redis restarts", Action: c.soak,
		Description: "It prints latencies, cache hits and memory with their goals, and draws a picture. The exit\ncode is 1 if a goal was missed.",
		Flags: []cli.Flag{
			&cli.DurationFlag{Name: "dur", Value: 10 * time.Minute, Usage: "`TIME` of the load"},
			&cli.FloatFlag{Name: "rate", Value: 150, Usage: "`NUMBER` of actions a second, even if the servers fall behind; flash sales come on top"},
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "`NUMBER` that decides the actions and their times"},
			&cli.IntFlag{Name: "users", Value: 20_000, Usage: "`NUMBER` of users"},
			&cli.IntFlag{Name: "shops", Value: 20_000, Usage: "`NUMBER` of shops"},
			&cli.IntFlag{Name: "notes", Value: 40_000, Usage: "`NUMBER` of notes"},
			&cli.IntFlag{Name: "follows", Value: 200_000, Usage: "`NUMBER` of follows"},
			&cli.IntFlag{Name: "sockets", Value: 100, Usage: "`NUMBER` of users with a live feed"},
			&cli.StringFlag{Name: "faults", Value: "state,cache", Usage: "`ROLES` of the Redis servers that restart: state, cache; none if empty"},
			&cli.StringFlag{Name: "out", Value: "tmp/soak", Usage: "`FOLDER` for the picture and the logs of the servers"},
		},
	}
}

// soak starts this program again to seed a town, and as the servers.
func (c *commands) soak(ctx context.Context, cmd *cli.Command) error {
	faults := words(cmd.String("faults"))
	for _, f := range faults {
		if !slices.Contains(soak.Faults(), f) {
			return refused("unknown fault %q (want one of %v)", f, soak.Faults())
		}
	}
	if cmd.Duration("dur") < 5*time.Second || cmd.Float("rate") <= 0 || cmd.Int("users") < 100 || cmd.Int("shops") < 100 || cmd.Int("notes") < 100 {
		return refused("--dur must be at least 5s, --users, --shops and --notes at least 100, --rate above 0")
	}
	site, err := web.New()
	if err != nil {
		return fmt.Errorf("built pages: %w", err)
	}
	processes, err := again(ctx)
	if err != nil {
		return err
	}
	return soak.Run(ctx, soak.Options{
		Again:     processes,
		Documents: site.Documents(), Dir: cmd.String("out"), Dur: cmd.Duration("dur"), Rate: cmd.Float("rate"), Seed: cmd.Uint64("seed"),
		Users: cmd.Int("users"), Shops: cmd.Int("shops"), Notes: cmd.Int("notes"), Follows: cmd.Int("follows"), Sockets: cmd.Int("sockets"),
		Faults: faults, Progress: c.stderr,
	}, c.stdout)
}
