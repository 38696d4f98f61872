// Command cache prints how the field's ways to cache rows in Redis compare with
// Tandian's: package bench/cache.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tandian-dev/tandian/bench/cache"
	"github.com/tandian-dev/tandian/bench/redisserver"
)

func main() {
	cache.Hush()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cache:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("cache", flag.ContinueOnError)
	url := flags.String("redis", os.Getenv("BENCH_REDIS_URL"), "`URL` of one Redis, also BENCH_REDIS_URL; without it a private one is started")
	during := flags.Duration("dur", 4*time.Second, "`time` of each scheme in the tables stale and hot")
	seed := flags.Uint64("seed", 0, "`number` that decides the random choices; 0 draws one")
	only := flags.String("only", "", "tables to print, between commas: "+strings.Join(cache.Tables(), ", "))
	scheme := flags.String("scheme", "", "only schemes with this `text` in their name")
	if err := flags.Parse(args); err != nil {
		return err
	}
	plan := cache.Plan{URL: *url, During: *during, Seed: *seed, Scheme: *scheme}
	if plan.Seed == 0 {
		plan.Seed = uint64(time.Now().UnixNano())
	}
	for name := range strings.SplitSeq(*only, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if !slices.Contains(cache.Tables(), name) {
			return fmt.Errorf("there is no table %q; there are %s", name, strings.Join(cache.Tables(), ", "))
		}
		plan.Only = append(plan.Only, name)
	}
	if plan.URL == "" {
		started, stop, err := redisserver.Start(ctx)
		if err != nil {
			return err
		}
		defer stop()
		plan.URL = started
	}
	return cache.Report(ctx, plan, out)
}
