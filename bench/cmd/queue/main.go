// Command queue prints how the field's ways to hand work to another process compare
// with Tandian's: package bench/queue. It starts servers of its own, because it kills
// them, and itself again as the processes that it kills.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/tandian-dev/tandian/bench/program"
	"github.com/tandian-dev/tandian/bench/queue"
)

// asProcess is the argument with which this program is one of its own processes.
const asProcess = "process"

func main() {
	if len(os.Args) == 2 && os.Args[1] == asProcess {
		program.Main("queue", func(context.Context, []string, io.Writer) error { return queue.Serve(os.Stdin, os.Stdout) })
		return
	}
	program.Main("queue", run)
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := program.NewFlags("queue", queue.Tables())
	messages := flags.Int("messages", 5000, "`number` of messages of a run, at least 100")
	rounds := flags.Int("rounds", 5, "`number` of rounds of the rates")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *messages < 100 {
		return fmt.Errorf("--messages %d: at least 100", *messages)
	}
	if *rounds < 1 {
		return fmt.Errorf("--rounds %d: at least 1", *rounds)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program, to start it again: %w", err)
	}
	processes := func() *exec.Cmd {
		cmd := exec.Command(self, asProcess) //nolint:noctx // it is killed, or ends with its input
		cmd.Stderr = os.Stderr
		return cmd
	}
	lab := queue.Lab{Processes: processes, Messages: *messages}
	return queue.Report(ctx, queue.Plan{Lab: lab, Rounds: *rounds, Only: flags.Only, Scheme: flags.Scheme}, out)
}
