// Command lock prints how the field's ways to lock over several processes
// compare with Tandian's: package bench/lock.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/tandian-dev/tandian/bench/lock"
	"github.com/tandian-dev/tandian/bench/program"
	"github.com/tandian-dev/tandian/bench/redisserver"
)

func main() {
	lock.Hush()
	program.Main("lock", run)
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := program.NewFlags("lock", lock.Tables())
	urls := flags.String("redis", os.Getenv("BENCH_REDIS_URL"), "`URLs` of one Redis, or of three, between commas; also BENCH_REDIS_URL; without it three private ones are started")
	database := flags.String("database", os.Getenv("BENCH_DATABASE_URL"), "`URL` of a Postgres database, also BENCH_DATABASE_URL; without it the schemes that need one are left out")
	rounds := flags.Int("rounds", 40, "`number` of rounds of the table handover")
	if err := flags.Parse(args); err != nil {
		return err
	}
	plan := lock.Plan{Redis: program.Split(*urls), Database: *database, Rounds: *rounds, Seed: flags.Seed, Only: flags.Only, Scheme: flags.Scheme}
	if plan.Rounds < 1 {
		return fmt.Errorf("--rounds %d: at least 1", plan.Rounds)
	}
	if n := len(plan.Redis); n != 0 && n != 1 && n != 3 {
		return fmt.Errorf("--redis has %d URLs; one or three are wanted", n)
	}
	if len(plan.Redis) == 0 {
		for range 3 {
			url, stop, err := redisserver.Start(ctx)
			if err != nil {
				return err
			}
			defer stop()
			plan.Redis = append(plan.Redis, url)
		}
	}
	return lock.Report(ctx, plan, out)
}
