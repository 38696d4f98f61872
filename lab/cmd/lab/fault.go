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

	"github.com/urfave/cli/v3"

	"github.com/tandian-dev/tandian/lab/faulttest"
	"github.com/tandian-dev/tandian/lab/livetest"
)

// errBroken reports that a run broke a guarantee.
var errBroken = errors.New("a guarantee was broken")

func seedFlag(usage string) cli.Flag {
	return &cli.Uint64Flag{Name: "seed", Usage: "`NUMBER` " + usage + "; 0 draws one"}
}

func keepFlag() cli.Flag {
	return &cli.StringFlag{Name: "keep", Value: filepath.Join(os.TempDir(), "tandian-lab"), Usage: "`FOLDER` for the logs of a run that broke a guarantee"}
}

func binaryFlag() cli.Flag {
	return &cli.StringFlag{Name: "binary", Usage: "`FILE` of the server's program; built if empty"}
}

// faultConfig reads the flags that fault runs share.
func (c *commands) faultConfig(cmd *cli.Command) faulttest.Config {
	cfg := faulttest.Config{Seed: cmd.Uint64("seed"), Binary: cmd.String("binary"), Keep: cmd.String("keep"), Out: c.stdout}
	if cfg.Seed == 0 {
		cfg.Seed = faulttest.NewSeed()
	}
	return cfg
}

func (c *commands) faultCommand() *cli.Command {
	return &cli.Command{
		Name: "fault", Usage: "harm servers and stores while clients buy",
		Description: "It runs two servers, a PostgreSQL and a Redis, and harms them in every known way while\nclients buy. Then it proves from the stores and from the clients' answers that no order\nwas lost, sold twice or sold beyond the stock. The exit code is 1 if one was.",
		Flags: []cli.Flag{
			&cli.DurationFlag{Name: "dur", Value: 2 * time.Minute, Usage: "`TIME` of buying and harming; repair and checks follow"},
			seedFlag("that chooses the faults and the clients' actions"),
			&cli.BoolFlag{Name: "embedded", Usage: "kill the single binary with both stores embedded, again and again"},
			&cli.BoolFlag{Name: "six", Usage: "repeat the fixed six faults of the short test"},
			&cli.StringFlag{Name: "upgrade-from", Usage: "`FILE` of an older server: replace its processes one by one, put them back, replace them again"},
			binaryFlag(), keepFlag(),
		},
		Action: c.fault,
	}
}

func (c *commands) fault(ctx context.Context, cmd *cli.Command) error {
	cfg := c.faultConfig(cmd)
	cfg.Duration, cfg.Embedded = cmd.Duration("dur"), cmd.Bool("embedded")
	if cmd.Bool("six") {
		cfg.Cards, cfg.Trailer = faulttest.FixedSix(), "--six"
	}
	if older := cmd.String("upgrade-from"); older != "" {
		dir, err := os.MkdirTemp("", "tandian-lab-")
		if err != nil {
			return fmt.Errorf("make a folder for the server's program: %w", err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		newer := cfg.Binary
		if newer == "" {
			if newer, err = faulttest.BuildServer(ctx, dir, ""); err != nil {
				return fmt.Errorf("build the newer program: %w", err)
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

func (c *commands) clusterCommand() *cli.Command {
	var keys []string
	for _, s := range faulttest.Scenarios(1) {
		keys = append(keys, s.Key)
	}
	return &cli.Command{
		Name: "cluster", Usage: "kill masters of Redis Cluster, Sentinel and PostgreSQL while clients buy",
		ArgsUsage:   "[SCENARIO…]",
		Description: "Each scenario runs servers on replicated stores, kills a master, and checks the promises of\ndocs/faults.md. All run by default: " + strings.Join(keys, ", ") + ".",
		Flags:       []cli.Flag{seedFlag("that chooses the clients' actions"), binaryFlag(), keepFlag()},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			cfg, names := c.faultConfig(cmd), cmd.Args().Slice()
			var chosen []faulttest.Scenario
			for _, s := range faulttest.Scenarios(cfg.Seed) {
				if len(names) == 0 || slices.Contains(names, s.Key) {
					chosen = append(chosen, s)
				}
			}
			for _, name := range names {
				if !slices.Contains(keys, name) {
					return refused("unknown scenario %q (want one of %v)", name, keys)
				}
			}
			broken, err := faulttest.Beyond(ctx, cfg, chosen)
			if err == nil && broken {
				err = errBroken
			}
			return err
		},
	}
}

func (c *commands) liveCommand() *cli.Command {
	return &cli.Command{
		Name: "live", Usage: "harm servers and Redis while clients follow their feeds live",
		Description: "Afterwards it proves from the database that each client received every note of its feed\nonce and in order. The exit code is 1 if one was missed or repeated.",
		Flags: []cli.Flag{
			&cli.DurationFlag{Name: "dur", Value: 5 * time.Minute, Usage: "`TIME` of harming, at least; repair and checks follow"},
			seedFlag("that chooses the faults and the clients' actions"),
			&cli.IntFlag{Name: "reconnects", Value: 50_000, Usage: "`NUMBER` of reconnects, at least, however long they take"},
			&cli.IntFlag{Name: "restarts", Value: 20, Usage: "`NUMBER` of kills of Redis, at least, however long they take"},
			&cli.IntFlag{Name: "clients", Value: 120, Usage: "`NUMBER` of listening clients"},
			&cli.IntFlag{Name: "authors", Value: 100, Usage: "`NUMBER` of authors"},
			&cli.IntFlag{Name: "follows", Value: 40, Usage: "`NUMBER` of authors that each client follows"},
			&cli.FloatFlag{Name: "rate", Value: 40, Usage: "`NUMBER` of notes a second"},
			&cli.DurationFlag{Name: "life", Value: 500 * time.Millisecond, Usage: "mean `TIME` of a connection"},
			&cli.BoolFlag{Name: "short", Usage: "the short test: fewer clients and fixed faults"},
			binaryFlag(), keepFlag(),
		},
		Action: func(ctx context.Context, cmd *cli.Command) error {
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
	}
}

func (c *commands) mutantsCommand() *cli.Command {
	caught := func(survivors []string, err error) error {
		if err == nil && len(survivors) > 0 {
			err = fmt.Errorf("not caught: %v", survivors)
		}
		return err
	}
	return &cli.Command{
		Name: "mutants", Usage: "build servers with one mistake each, and check that a run catches each",
		Commands: []*cli.Command{
			{
				Name: "fault", Usage: "mistakes that the fault run must catch", ArgsUsage: "[MUTANT…]",
				Flags: []cli.Flag{
					&cli.DurationFlag{Name: "dur", Value: 2 * time.Minute, Usage: "`TIME` of a run"},
					seedFlag("of the runs"), binaryFlag(), keepFlag(),
				},
				Action: func(ctx context.Context, cmd *cli.Command) error {
					return caught(faulttest.Hunt(ctx, faulttest.HuntConfig{
						Names: cmd.Args().Slice(), Seed: cmd.Uint64("seed"), Duration: cmd.Duration("dur"),
						Binary: cmd.String("binary"), Keep: cmd.String("keep"), Out: c.stdout,
					}))
				},
			},
			{
				Name: "live", Usage: "mistakes that the live run must catch", ArgsUsage: "[MUTANT…]",
				Flags: []cli.Flag{seedFlag("of the runs")},
				Action: func(ctx context.Context, cmd *cli.Command) error {
					return caught(livetest.Hunt(ctx, cmd.Uint64("seed"), cmd.Args().Slice(), c.stdout))
				},
			},
		},
	}
}
