package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tandian-dev/tandian/internal/kit/cmdline"
	"github.com/tandian-dev/tandian/lab/faulttest"
	"github.com/tandian-dev/tandian/lab/ratingtest"
)

func (c *commands) ratingsCommand() *cobra.Command {
	return newCommand(spec{
		Use: "ratings", Short: "kill servers and Redis while clients rate shops", Run: c.ratings,
		Long: "64 connections rate shops, mostly one, at two servers. Afterwards it compares counters, scores,\nrankings and filtered lists with the rows. The exit code is 1 if something differs.",
		Flags: func(f *pflag.FlagSet) {
			f.Duration("dur", 30*time.Second, "rate and inject faults for `TIME`; recovery and checks follow")
			seedFlag(f, "seed the shops, the faults and the clients' actions with `NUMBER`")
			binaryFlag(f)
			keepFlag(f)
		},
	})
}

func (c *commands) ratings(ctx context.Context, cmd *call) error {
	if cmd.Duration("dur") < time.Second {
		return cmdline.Refuse("--dur must be at least 1s")
	}
	cfg := ratingtest.Config{Duration: cmd.Duration("dur"), Seed: cmd.Uint64("seed"), Binary: cmd.String("binary"), Keep: cmd.String("keep"), Out: c.stdout}
	if cfg.Seed == 0 {
		cfg.Seed = faulttest.NewSeed()
	}
	n, err := ratingtest.Run(ctx, cfg)
	if err == nil && n > 0 {
		err = fmt.Errorf("%w: %d differences", errBroken, n)
	}
	return err
}
