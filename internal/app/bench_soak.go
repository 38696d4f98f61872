package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/tandian-dev/tandian/internal/bench/soak"
	"github.com/tandian-dev/tandian/internal/web"
)

// soakCommand is bench soak.
func (c *commands) soakCommand() *cli.Command {
	return &cli.Command{
		Name: "soak", Usage: "whether two servers bear what people do, for minutes: times, hits of caches, memory, and a Redis that restarts, on a Redis for each and a PostgreSQL of its own", Action: c.benchSoak,
		Flags: []cli.Flag{
			&cli.DurationFlag{Name: "dur", Value: 10 * time.Minute, Usage: "`TIME` of the load", Local: true},
			&cli.FloatFlag{Name: "rate", Value: 150, Usage: "`NUMBER` of works a second, whether the servers keep up or not; races at sales come on top", Local: true},
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "`NUMBER` that decides who does what, and when", Local: true},
			&cli.IntFlag{Name: "users", Value: 20_000, Usage: "`NUMBER` of users", Local: true},
			&cli.IntFlag{Name: "shops", Value: 20_000, Usage: "`NUMBER` of shops", Local: true},
			&cli.IntFlag{Name: "notes", Value: 40_000, Usage: "`NUMBER` of notes", Local: true},
			&cli.IntFlag{Name: "follows", Value: 200_000, Usage: "`NUMBER` of follows", Local: true},
			&cli.IntFlag{Name: "sockets", Value: 100, Usage: "`NUMBER` of users who follow their feeds live", Local: true},
			&cli.StringFlag{Name: "faults", Value: "state,cache", Usage: "`NAMES` of the Redis that restart in the middle, between commas; none if empty", Local: true},
			&cli.StringFlag{Name: "out", Value: "tmp/soak", Usage: "`FOLDER` for a picture and the logs of the servers", Local: true},
		},
		Commands: []*cli.Command{{Name: "process", Hidden: true, Action: c.benchSoakProcess}},
	}
}

// benchSoak runs this program again to seed a town, and as the servers.
func (c *commands) benchSoak(ctx context.Context, cmd *cli.Command) error {
	faults := strings.FieldsFunc(cmd.String("faults"), func(r rune) bool { return r == ',' || r == ' ' })
	for _, f := range faults {
		if !slices.Contains(soak.Faults(), f) {
			return usageError{fmt.Errorf("there is no fault %q; there are %v", f, soak.Faults())}
		}
	}
	if cmd.Duration("dur") < 5*time.Second || cmd.Float("rate") <= 0 || cmd.Int("users") < 100 || cmd.Int("shops") < 100 || cmd.Int("notes") < 100 {
		return usageError{errors.New("--dur is 5s or more, --users, --shops and --notes are 100 or more, --rate is above 0")}
	}
	site, err := web.New()
	if err != nil {
		return fmt.Errorf("built pages: %w", err)
	}
	again, err := program(ctx)
	if err != nil {
		return err
	}
	return soak.Run(ctx, soak.Options{
		Again:     again,
		Documents: site.Documents(), Dir: cmd.String("out"), Dur: cmd.Duration("dur"), Rate: cmd.Float("rate"), Seed: cmd.Uint64("seed"),
		Users: cmd.Int("users"), Shops: cmd.Int("shops"), Notes: cmd.Int("notes"), Follows: cmd.Int("follows"), Sockets: cmd.Int("sockets"),
		Faults: faults, Progress: c.stderr,
	}, c.stdout)
}

// benchSoakProcess is one of the servers: as the settings say, until its input ends.
func (c *commands) benchSoakProcess(ctx context.Context, _ *cli.Command) error {
	return soak.Process(os.Stdin, c.stdout, func() (string, error) {
		return startMeasured(ctx, &c.cfg, c.log)
	})
}
