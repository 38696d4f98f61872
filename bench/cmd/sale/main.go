// Command sale prints how the field's ways to sell what is limited compare with
// Tandian's, and what goes wrong with those that are wrong: package bench/sale.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/tandian-dev/tandian/bench/lock"
	"github.com/tandian-dev/tandian/bench/program"
	"github.com/tandian-dev/tandian/bench/sale"
	"github.com/tandian-dev/tandian/internal/kit/measure"
)

func main() {
	lock.Hush()
	if sale.IsProcess() {
		program.Main("sale process", func(context.Context, []string, io.Writer) error { return sale.Process(os.Stdin, os.Stdout) })
		return
	}
	program.Main("sale", run)
}

// run starts servers of its own: what is committed is on the disk, and what Redis is
// told is in its log within a second.
func run(ctx context.Context, args []string, out io.Writer) error {
	flags := program.NewFlags("sale", sale.Tables())
	rounds := flags.Int("rounds", 3, "`number` of rounds of the table strategies, an odd one")
	each := flags.Duration("each", 2*time.Second, "`time` of a round of one strategy")
	times := flags.Int("times", 20, "`number` of times of each scene of the table wrong")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *rounds < 1 || *rounds%2 == 0 {
		return fmt.Errorf("--rounds %d: an odd number is wanted", *rounds)
	}
	if *each < 10*time.Millisecond || *times < 1 {
		return errors.New("--each is 10ms or more, --times 1 or more")
	}
	pg, err := measure.StartPostgres(ctx)
	if err != nil {
		return err
	}
	defer pg.Stop()
	private, err := measure.StartRedis(ctx, "--appendonly", "yes", "--appendfsync", "everysec")
	if err != nil {
		return err
	}
	defer private.Stop()
	return sale.Report(ctx, sale.Plan{
		Redis: private.URL, Database: pg.URL, Rounds: *rounds, Each: *each, Times: *times, Only: flags.Only, Scheme: flags.Scheme,
	}, out)
}
