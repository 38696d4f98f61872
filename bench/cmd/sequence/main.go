// Command sequence prints how the field's ways to number orders compare with
// Tandian's: package bench/sequence.
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/tandian-dev/tandian/bench/program"
	"github.com/tandian-dev/tandian/bench/redisserver"
	"github.com/tandian-dev/tandian/bench/sequence"
)

func main() {
	program.Main("sequence", run)
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := program.NewFlags("sequence", sequence.Tables())
	url := flags.String("redis", os.Getenv("BENCH_REDIS_URL"), "`URL` of a Redis, also BENCH_REDIS_URL; without it a private one is started")
	database := flags.String("database", cmp.Or(os.Getenv("BENCH_DATABASE_URL"), os.Getenv("TANDIAN_TEST_DATABASE_URL")),
		"`URL` of a Postgres database, also BENCH_DATABASE_URL; without it the one that scripts/servers.sh starts, or none: then the schemes that need one are left out")
	rounds := flags.Int("rounds", 7, "`number` of rounds of the rate")
	each := flags.Duration("dur", 200*time.Millisecond, "`time` that a scheme has in a round")
	if err := flags.Parse(args); err != nil {
		return err
	}
	plan := sequence.Plan{Redis: *url, Database: *database, Rounds: *rounds, Each: *each, Seed: flags.Seed, Scheme: flags.Scheme}
	if plan.Rounds < 1 {
		return fmt.Errorf("--rounds %d: at least 1", plan.Rounds)
	}
	if plan.Redis == "" {
		private, stop, err := redisserver.Start(ctx)
		if err != nil {
			return err
		}
		defer stop()
		plan.Redis = private
	}
	return sequence.Report(ctx, plan, out)
}
