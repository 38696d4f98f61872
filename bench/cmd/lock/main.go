// Command lock prints how the field's ways to lock over several processes
// compare with Tandian's: package bench/lock.
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

	"github.com/tandian-dev/tandian/bench/lock"
	"github.com/tandian-dev/tandian/bench/redisserver"
)

func main() {
	lock.Hush()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "lock:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("lock", flag.ContinueOnError)
	urls := flags.String("redis", os.Getenv("BENCH_REDIS_URL"), "`URLs` of one Redis, or of three, between commas; also BENCH_REDIS_URL; without it three private ones are started")
	database := flags.String("database", os.Getenv("BENCH_DATABASE_URL"), "`URL` of a Postgres database, also BENCH_DATABASE_URL; without it the schemes that need one are left out")
	rounds := flags.Int("rounds", 40, "`number` of rounds of the table handover")
	seed := flags.Uint64("seed", 0, "`number` that decides the random choices; 0 draws one")
	only := flags.String("only", "", "tables to print, between commas: "+strings.Join(lock.Tables(), ", "))
	scheme := flags.String("scheme", "", "only schemes with this `text` in their name")
	if err := flags.Parse(args); err != nil {
		return err
	}
	plan := lock.Plan{Redis: split(*urls), Database: *database, Rounds: *rounds, Seed: *seed, Only: split(*only), Scheme: *scheme}
	for _, name := range plan.Only {
		if !slices.Contains(lock.Tables(), name) {
			return fmt.Errorf("there is no table %q; there are %s", name, strings.Join(lock.Tables(), ", "))
		}
	}
	if plan.Rounds < 1 {
		return fmt.Errorf("--rounds %d: at least 1", plan.Rounds)
	}
	if plan.Seed == 0 {
		plan.Seed = uint64(time.Now().UnixNano())
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

// split returns the words between commas.
func split(text string) []string {
	var words []string
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			words = append(words, word)
		}
	}
	return words
}
