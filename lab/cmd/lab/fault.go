package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tandian-dev/tandian/internal/kit/cmdline"
	"github.com/tandian-dev/tandian/lab/faulttest"
	"github.com/tandian-dev/tandian/lab/livetest"
)

// errBroken reports that a run broke a guarantee.
var errBroken = errors.New("a guarantee was broken")

func seedFlag(f *pflag.FlagSet, usage string) {
	f.Uint64("seed", 0, usage+"; 0 draws one")
}

func keepFlag(f *pflag.FlagSet) {
	f.String("keep", filepath.Join(os.TempDir(), "tandian-lab"), "write the logs of failed runs to `FOLDER`")
}

func binaryFlag(f *pflag.FlagSet) {
	f.String("binary", "", "run the server executable `FILE`; built if empty")
}

// faultConfig reads the common flags of fault runs.
func (c *commands) faultConfig(cmd *call) faulttest.Config {
	cfg := faulttest.Config{Seed: cmd.Uint64("seed"), Binary: cmd.String("binary"), Keep: cmd.String("keep"), Out: c.stdout}
	if cfg.Seed == 0 {
		cfg.Seed = faulttest.NewSeed()
	}
	return cfg
}

func (c *commands) faultCommand() *cobra.Command {
	return newCommand(spec{
		Use: "fault", Short: "inject faults into servers and stores while clients buy",
		Long: "It runs two servers, a PostgreSQL and a Redis, and injects every known kind of fault while\nclients buy. Then it checks the stores and the clients' answers: no order may be lost, no\nunit sold twice, no voucher oversold. The exit code is 1 if a guarantee was broken.",
		Flags: func(f *pflag.FlagSet) {
			f.Duration("dur", 2*time.Minute, "buy and inject faults for `TIME`; recovery and checks follow")
			seedFlag(f, "seed the faults and the clients' actions with `NUMBER`")
			f.Bool("embedded", false, "repeatedly kill the single binary with both stores embedded")
			f.Bool("six", false, "repeat the six faults of the short test")
			f.String("upgrade-from", "", "start the older server `FILE`, upgrade one process at a time, go back, upgrade again")
			binaryFlag(f)
			keepFlag(f)
		},
		Run: c.fault,
	})
}

func (c *commands) fault(ctx context.Context, cmd *call) error {
	cfg := c.faultConfig(cmd)
	cfg.Duration, cfg.Embedded = cmd.Duration("dur"), cmd.Bool("embedded")
	if cmd.Bool("six") {
		cfg.Cards, cfg.Trailer = faulttest.FixedSix(), "--six"
	}
	if older := cmd.String("upgrade-from"); older != "" {
		dir, err := os.MkdirTemp("", "tandian-lab-")
		if err != nil {
			return fmt.Errorf("create folder for server executable: %w", err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		newer := cfg.Binary
		if newer == "" {
			if newer, err = faulttest.BuildServer(ctx, dir, ""); err != nil {
				return fmt.Errorf("build newer server: %w", err)
			}
		}
		cfg.Binary, cfg.Cards, cfg.Once = older, faulttest.UpgradeCards(older, newer), true
		cfg.Duration, cfg.Trailer = faulttest.UpgradeLasts, "--upgrade-from "+older
	}
	report, err := faulttest.Run(ctx, cfg)
	if err == nil && report.Broken() {
		err = errBroken
	}
	return err
}

func (c *commands) clusterCommand() *cobra.Command {
	var keys []string
	for _, s := range faulttest.Scenarios(1) {
		keys = append(keys, s.Key)
	}
	return newCommand(spec{
		Use: "cluster [SCENARIO…]", Short: "kill masters of Redis Cluster, Sentinel and PostgreSQL while clients buy",
		Long: "Each scenario runs servers on replicated stores, kills a master, and checks the guarantees in\ndocs/guide/failures.md. Scenarios, all by default:\n  " + strings.Join(keys, ", "),
		Args: cobra.ArbitraryArgs,
		Flags: func(f *pflag.FlagSet) {
			seedFlag(f, "seed the clients' actions with `NUMBER`")
			binaryFlag(f)
			keepFlag(f)
		},
		Run: func(ctx context.Context, cmd *call) error {
			cfg, names := c.faultConfig(cmd), cmd.args
			var chosen []faulttest.Scenario
			for _, s := range faulttest.Scenarios(cfg.Seed) {
				if len(names) == 0 || slices.Contains(names, s.Key) {
					chosen = append(chosen, s)
				}
			}
			for _, name := range names {
				if !slices.Contains(keys, name) {
					return cmdline.Refuse("unknown scenario %q (want one of %v)", name, keys)
				}
			}
			broken, err := faulttest.RunScenarios(ctx, cfg, chosen)
			if err == nil && broken {
				err = errBroken
			}
			return err
		},
	})
}

func (c *commands) liveCommand() *cobra.Command {
	return newCommand(spec{
		Use: "live", Short: "inject faults into servers and Redis while clients follow live feeds",
		Long: "Afterwards it checks with the database that each client received every note of its feed once\nand in order. The exit code is 1 if a guarantee was broken.",
		Flags: func(f *pflag.FlagSet) {
			f.Duration("dur", 5*time.Minute, "inject faults for at least `TIME`; recovery and checks follow")
			seedFlag(f, "seed the faults and the clients' actions with `NUMBER`")
			f.Int("reconnects", 50_000, "reconnect at least `NUMBER` times, even after --dur")
			f.Int("restarts", 20, "kill Redis at least `NUMBER` times, even after --dur")
			f.Int("clients", 120, "run `NUMBER` subscribed clients")
			f.Int("authors", 100, "run `NUMBER` authors")
			f.Int("follows", 40, "follow `NUMBER` authors per client")
			f.Float64("rate", 40, "publish `NUMBER` notes per second")
			f.Duration("life", 500*time.Millisecond, "close connections after a mean of `TIME`")
			f.Bool("short", false, "run the short test: fewer clients and fixed faults")
			binaryFlag(f)
			keepFlag(f)
		},
		Run: func(ctx context.Context, cmd *call) error {
			cfg := livetest.Config{
				Out: c.stdout, Duration: cmd.Duration("dur"), Seed: cmd.Uint64("seed"), Reconnects: cmd.Int("reconnects"),
				RedisRestarts: cmd.Int("restarts"), Clients: cmd.Int("clients"), Authors: cmd.Int("authors"), Follows: cmd.Int("follows"),
				Rate: cmd.Float("rate"), Life: cmd.Duration("life"), Binary: cmd.String("binary"), Keep: cmd.String("keep"),
			}
			if cfg.Seed == 0 {
				cfg.Seed = faulttest.NewSeed()
			}
			if cmd.Bool("short") {
				short := livetest.Short(cfg.Seed)
				short.Binary, short.Keep, short.Out = cfg.Binary, cfg.Keep, cfg.Out
				cfg = short
			}
			report, err := livetest.Run(ctx, cfg)
			if err == nil && report.Broken() {
				err = errBroken
			}
			return err
		},
	})
}

func (c *commands) mutantsCommand() *cobra.Command {
	caught := func(survivors []string, err error) error {
		if err == nil && len(survivors) > 0 {
			err = fmt.Errorf("not caught: %v", survivors)
		}
		return err
	}
	return cmdline.Group(
		"mutants COMMAND", "build servers with one mistake each, and check that a run catches it",
		newCommand(spec{
			Use: "fault [MUTANT…]", Short: "check the mistakes that lab fault must catch", Args: cobra.ArbitraryArgs,
			Flags: func(f *pflag.FlagSet) {
				f.Duration("dur", 2*time.Minute, "run for `TIME`, only with --seed")
				seedFlag(f, "repeat a printed run with seed `NUMBER`")
				binaryFlag(f)
				keepFlag(f)
			},
			Run: func(ctx context.Context, cmd *call) error {
				return caught(faulttest.RunMutants(ctx, faulttest.HuntConfig{
					Names: cmd.args, Seed: cmd.Uint64("seed"), Duration: cmd.Duration("dur"),
					Binary: cmd.String("binary"), Keep: cmd.String("keep"), Out: c.stdout,
				}))
			},
		}),
		newCommand(spec{
			Use: "live [MUTANT…]", Short: "check the mistakes that lab live must catch", Args: cobra.ArbitraryArgs,
			Flags: func(f *pflag.FlagSet) { seedFlag(f, "seed the faults with `NUMBER`") },
			Run: func(ctx context.Context, cmd *call) error {
				return caught(livetest.RunMutants(ctx, cmd.Uint64("seed"), cmd.args, c.stdout))
			},
		}),
	)
}
