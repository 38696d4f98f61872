// Command livetest harms servers while clients follow their live feeds, and proves that no
// client misses anything.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/tandian-dev/tandian/internal/faulttest"
	"github.com/tandian-dev/tandian/internal/kit/store"
	"github.com/tandian-dev/tandian/internal/livetest"
)

const usage = `livetest harms two servers and their Redis while clients follow their live feeds, and then
proves from the database that each was told every note that was due to it, once and in
order. It exits with 1 if something was broken.

  go run ./internal/livetest/cmd/livetest [-dur 5m] [-seed N] [-short] [-keep DIR]
  go run ./internal/livetest/cmd/livetest -mutants [NAME…]

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
		fmt.Fprintln(os.Stderr, "livetest:", err)
		os.Exit(1)
	}
}

func work(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("livetest", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	cfg := livetest.Config{Out: os.Stdout}
	flags.DurationVar(&cfg.Duration, "dur", 5*time.Minute, "how long everything breaks, at least; healing and checks come after it")
	flags.Uint64Var(&cfg.Seed, "seed", 0, "of the faults and of what everybody does; 0 draws one")
	flags.IntVar(&cfg.Reconnects, "reconnects", 50_000, "how many there are at least, however long that takes")
	flags.IntVar(&cfg.RedisRestarts, "restarts", 20, "how often Redis is killed at least, however long that takes")
	flags.IntVar(&cfg.Clients, "clients", 120, "how many listen")
	flags.IntVar(&cfg.Authors, "authors", 100, "how many publish")
	flags.IntVar(&cfg.Follows, "follows", 40, "authors whom each client's user follows")
	flags.Float64Var(&cfg.Rate, "rate", 40, "notes a second")
	flags.DurationVar(&cfg.Life, "life", 500*time.Millisecond, "mean of a connection")
	flags.StringVar(&cfg.Binary, "binary", "", "the server's program; built if empty")
	flags.StringVar(&cfg.Keep, "keep", filepath.Join(os.TempDir(), "tandian-livetest"), "`directory` for the logs of a run that broke something")
	short := flags.Bool("short", false, "the run of make test, of fewer clients and a fixed deck")
	mutants := flags.Bool("mutants", false, "build the mutants, or those that are named, and see whether each is caught")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *mutants {
		survivors, err := livetest.Hunt(ctx, cfg.Seed, flags.Args(), os.Stdout)
		if err == nil && len(survivors) > 0 {
			err = fmt.Errorf("not caught: %v", survivors)
		}
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is not understood; see -help", flags.Arg(0))
	}
	if cfg.Seed == 0 {
		cfg.Seed = faulttest.NewSeed()
	}
	if *short {
		one := livetest.Short(cfg.Seed)
		one.Binary, one.Keep, one.Out = cfg.Binary, cfg.Keep, cfg.Out
		cfg = one
	}
	report, err := livetest.Run(ctx, cfg)
	if err == nil && report.Broken() {
		err = errBroken
	}
	return err
}
