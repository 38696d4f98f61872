// Command live prints how Tandian's live feed compares with what else a Go server could
// use for it: package bench/live.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/tandian-dev/tandian/bench/live"
	"github.com/tandian-dev/tandian/bench/lock"
	"github.com/tandian-dev/tandian/bench/program"
	"github.com/tandian-dev/tandian/internal/kit/measure"
)

func main() {
	lock.Hush()
	if live.IsProcess() {
		program.Main("live process", func(ctx context.Context, _ []string, out io.Writer) error { return live.Process(ctx, os.Stdin, out) })
		return
	}
	program.Main("live", run)
}

// run starts servers of its own. Without --ours there is no Tandian among those who are
// compared, no PostgreSQL, and no table committed.
func run(ctx context.Context, args []string, out io.Writer) error {
	flags := program.NewFlags("live", live.Tables())
	plan := live.Plan{Progress: os.Stderr}
	flags.IntVar(&plan.Rounds, "rounds", 3, "`number` of turns of each contender")
	flags.DurationVar(&plan.Each, "dur", 3*time.Second, "`time` of each load")
	flags.DurationVar(&plan.Stall, "stall", 40*time.Second, "`time` to wait for a client that never reads to be disconnected")
	flags.BoolVar(&plan.Pin, "pin", true, "keep the server on one processor and all else on another")
	subscribers := flags.String("n", "1000,5000", "`numbers` of subscribers, between commas; memory is measured with the last")
	ours := flags.String("ours", "", "`program` that is Tandian; without it the others are compared, and there is no table committed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	plan.Only = flags.Only
	if plan.Rounds < 1 || plan.Each < 100*time.Millisecond || plan.Stall < time.Second {
		return errors.New("--rounds is 1 or more, --dur 100ms or more, --stall 1s or more")
	}
	for _, word := range program.Split(*subscribers) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 2 || n > 9000 {
			return fmt.Errorf("--n %s: numbers from 2 to 9000 are wanted", *subscribers)
		}
		plan.Subscribers = append(plan.Subscribers, n)
	}
	if len(plan.Subscribers) == 0 {
		return errors.New("--n wants a number")
	}
	if *ours != "" {
		plan.Ours = append([]string{*ours}, strings.Fields("bench live process")...)
	}
	return start(ctx, plan, out)
}

func start(ctx context.Context, plan live.Plan, out io.Writer) (err error) {
	if plan.Self, err = os.Executable(); err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	if plan.Pin {
		if err := live.StayApart(); err != nil {
			return fmt.Errorf("%w (--pin=false measures without)", err)
		}
	}
	redis, err := measure.StartRedis(ctx)
	if err != nil {
		return err
	}
	defer redis.Stop()
	plan.Redis = redis.URL
	if len(plan.Ours) > 0 {
		database, err := measure.StartPostgres(ctx)
		if err != nil {
			return err
		}
		defer database.Stop()
		plan.Database = database.URL
	}
	return live.Report(ctx, plan, out)
}
