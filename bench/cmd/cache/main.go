// Command cache prints how the field's ways to cache rows in Redis compare with
// Tandian's: package bench/cache.
package main

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/tandian-dev/tandian/bench/cache"
	"github.com/tandian-dev/tandian/bench/program"
	"github.com/tandian-dev/tandian/bench/redisserver"
)

func main() {
	cache.Hush()
	program.Main("cache", run)
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := program.NewFlags("cache", cache.Tables())
	url := flags.String("redis", os.Getenv("BENCH_REDIS_URL"), "`URL` of one Redis, also BENCH_REDIS_URL; without it a private one is started")
	during := flags.Duration("dur", 4*time.Second, "`time` of each scheme in the tables stale and hot")
	if err := flags.Parse(args); err != nil {
		return err
	}
	plan := cache.Plan{URL: *url, During: *during, Seed: flags.Seed, Only: flags.Only, Scheme: flags.Scheme}
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
