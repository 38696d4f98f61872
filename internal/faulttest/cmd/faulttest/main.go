// Command faulttest runs fault tests, and mutants of the server that they must catch.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/tandian-dev/tandian/internal/faulttest"
	"github.com/tandian-dev/tandian/internal/kit/store"
)

const usage = `faulttest harms two servers, a PostgreSQL and a Redis of its own in every way it knows
while clients buy, and then proves from the stores and from what the clients were told
that nothing was lost. It exits with 1 if something was broken.

  go run ./internal/faulttest/cmd/faulttest [-dur 2m] [-seed N] [-six] [-embedded] [-keep DIR]
  go run ./internal/faulttest/cmd/faulttest -beyond [-seed N] [-keep DIR] [cluster] [sentinel] [sync] [async]
  go run ./internal/faulttest/cmd/faulttest -upgrade-from PROGRAM [-seed N] [-keep DIR]
  go run ./internal/faulttest/cmd/faulttest -mutants [-seed N -dur D] [-keep DIR] [NAME…]

`

var errBroken = errors.New("something was broken")

func main() {
	store.Hush() // its drivers would print what is expected here
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := work(ctx, os.Args[1:])
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "faulttest:", err)
		os.Exit(1)
	}
}

func work(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("faulttest", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	cfg := faulttest.Config{Out: os.Stdout}
	flags.DurationVar(&cfg.Duration, "dur", 2*time.Minute, "how long clients buy and things break; healing and checks come after it")
	flags.Uint64Var(&cfg.Seed, "seed", 0, "of the deck and of what clients choose; 0 draws one")
	flags.BoolVar(&cfg.Embedded, "embedded", false, "the single binary with both stores in it, killed again and again")
	flags.StringVar(&cfg.Binary, "binary", "", "the server's program; built if empty")
	flags.StringVar(&cfg.Keep, "keep", filepath.Join(os.TempDir(), "tandian-faulttest"), "`directory` for history and logs of a run that broke something")
	six := flags.Bool("six", false, "the fixed deck of six that make test plays, again and again, in place of one of the seed")
	beyond := flags.Bool("beyond", false, "Redis Cluster, Sentinel and standbys of PostgreSQL, of which a master dies; -dur is not asked")
	older := flags.String("upgrade-from", "", "the server's `program` of an earlier version: servers start with it and are replaced one by one, put back, and replaced again; -dur is not asked")
	mutants := flags.Bool("mutants", false, "build the mutants, or those that are named, and see whether each is caught")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *mutants {
		return hunt(ctx, cfg, flags.Args())
	}
	if *beyond {
		return beyondOne(ctx, cfg, flags.Args())
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is not understood; see -help", flags.Arg(0))
	}
	if cfg.Seed == 0 {
		cfg.Seed = faulttest.NewSeed()
	}
	if *six {
		cfg.Cards, cfg.Trailer = faulttest.FixedSix(), "-six"
	}
	if *older != "" {
		dir, err := os.MkdirTemp("", "tandian-faulttest-")
		if err != nil {
			return fmt.Errorf("make room for the server's program: %w", err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		newer := cfg.Binary
		if newer == "" {
			if newer, err = faulttest.BuildServer(ctx, dir, ""); err != nil {
				return fmt.Errorf("build the newer program: %w", err)
			}
		}
		cfg.Binary, cfg.Cards, cfg.Once = *older, faulttest.UpgradeCards(*older, newer), true
		cfg.Duration, cfg.Trailer = faulttest.UpgradeLasts, "-upgrade-from "+*older
	}
	report, err := faulttest.Run(ctx, cfg)
	if err == nil && report.Broken() {
		err = errBroken
	}
	return err
}

// beyondOne runs the scenarios of these keys, all if there are none.
func beyondOne(ctx context.Context, cfg faulttest.Config, keys []string) error {
	if cfg.Seed == 0 {
		cfg.Seed = faulttest.NewSeed()
	}
	var chosen []faulttest.Scenario
	for _, s := range faulttest.Scenarios(cfg.Seed) {
		if len(keys) == 0 || slices.Contains(keys, s.Key) {
			chosen = append(chosen, s)
		}
	}
	if len(chosen) == 0 {
		return fmt.Errorf("there is no scenario of %v", keys)
	}
	broken, err := faulttest.Beyond(ctx, cfg, chosen)
	if err == nil && broken {
		err = errBroken
	}
	return err
}

func hunt(ctx context.Context, cfg faulttest.Config, names []string) error {
	survivors, err := faulttest.Hunt(ctx, faulttest.HuntConfig{Names: names, Seed: cfg.Seed, Duration: cfg.Duration, Binary: cfg.Binary, Keep: cfg.Keep, Out: cfg.Out})
	if err == nil && len(survivors) > 0 {
		err = fmt.Errorf("not caught: %v", survivors)
	}
	return err
}
