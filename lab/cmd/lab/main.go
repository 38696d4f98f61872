// Command lab measures Tandian and tests its guarantees: benchmarks, comparisons with other
// libraries, and runs that harm whole servers. `go run ./cmd/lab --help`, in the folder lab of a
// checkout, lists its commands.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tandian-dev/tandian/internal/cli"
	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/internal/kit/cmdline"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/lab/compare/cache"
	"github.com/tandian-dev/tandian/lab/compare/live"
	"github.com/tandian-dev/tandian/lab/compare/sale"
)

func main() {
	cli.Prepare()
	cache.Hush() // the compared clients log every error that a run provokes
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, os.Args, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run runs the command in args. It returns the exit code of the process: 0, 1 if the command
// failed, 2 if the call was wrong.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := work(ctx, args, stdout, stderr)
	if err == nil {
		return 0
	}
	_, _ = fmt.Fprintln(stderr, "lab:", err)
	if _, usage := errors.AsType[cmdline.UsageError](err); usage {
		return 2
	}
	return 1
}

func work(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	switch { // comparisons mark their processes in the environment
	case sale.IsProcess():
		return sale.Process(os.Stdin, stdout)
	case live.IsProcess():
		return live.Process(ctx, os.Stdin, stdout)
	}
	c := &commands{cfg: config.Default(), log: slog.New(slog.DiscardHandler), stdout: stdout, stderr: stderr}
	root := c.root() //nolint:contextcheck // cobra passes the context to the commands
	root.SetArgs(args[min(1, len(args)):])
	return root.ExecuteContext(ctx)
}

// commands holds what the commands share.
type commands struct {
	cfg            config.Config // of the servers that a command starts in its own process
	log            *slog.Logger
	stdout, stderr io.Writer
}

func (c *commands) root() *cobra.Command {
	root := cmdline.Group(
		"lab COMMAND", "measure Tandian and prove its guarantees",
		c.benchCommand(),
		c.faultCommand(),
		c.liveCommand(),
		c.soakCommand(),
		c.clusterCommand(),
		c.mutantsCommand(),
		c.processCommand(),
	)
	root.Long = "Run it in the folder lab of a checkout: go run ./cmd/lab COMMAND. Most commands start PostgreSQL\n" +
		"and Redis servers of their own: initdb, postgres and redis-server must be on PATH."
	root.SetOut(c.stdout)
	root.SetErr(c.stderr)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return cmdline.ReadEnvironment(cmd.Flags()) }
	cmdline.Prepare(root, nil)
	return root
}

// spec describes a command. Only Use, Short and Run are required.
type spec struct {
	Use, Short, Long string
	Args             cobra.PositionalArgs // nil refuses arguments
	Flags            func(*pflag.FlagSet)
	Before           func() error // runs after the flags are read
	Run              func(context.Context, *call) error
}

func newCommand(s spec) *cobra.Command {
	cmd := &cobra.Command{Use: s.Use, Short: s.Short, Long: s.Long, Args: s.Args}
	if s.Flags != nil {
		s.Flags(cmd.Flags())
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if s.Before != nil {
			if err := s.Before(); err != nil {
				return err
			}
		}
		return s.Run(cmd.Context(), &call{cmd.Flags(), args})
	}
	return cmd
}

// call holds the flags and the arguments of one call. Its methods return the value of a
// flag. They panic if the command has no such flag.
type call struct {
	flags *pflag.FlagSet
	args  []string
}

func (c *call) Bool(name string) bool              { return must(c.flags.GetBool(name)) }
func (c *call) Duration(name string) time.Duration { return must(c.flags.GetDuration(name)) }
func (c *call) Float(name string) float64          { return must(c.flags.GetFloat64(name)) }
func (c *call) Int(name string) int                { return must(c.flags.GetInt(name)) }
func (c *call) Int64(name string) int64            { return must(c.flags.GetInt64(name)) }
func (c *call) String(name string) string          { return must(c.flags.GetString(name)) }
func (c *call) Uint64(name string) uint64          { return must(c.flags.GetUint64(name)) }

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// settings adds the named settings of a server to the flags of a command.
func (c *commands) settings(f *pflag.FlagSet, names ...string) {
	all := c.cfg.Flags()
	for _, name := range names {
		f.AddFlag(all.Lookup(name))
	}
}

// again returns a function that makes commands of this program's hidden processes.
func again(ctx context.Context) (func(args ...string) *exec.Cmd, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program to start it again: %w", err)
	}
	return func(args ...string) *exec.Cmd {
		return exec.CommandContext(context.WithoutCancel(ctx), path, append([]string{"process"}, args...)...) //nolint:gosec // this program
	}, nil
}

// process is again for one process that writes its errors to the terminal.
func (c *commands) process(ctx context.Context, args ...string) (func() *exec.Cmd, error) {
	command, err := again(ctx)
	if err != nil {
		return nil, err
	}
	return func() *exec.Cmd {
		child := command(args...)
		child.Stderr = c.stderr
		return child
	}, nil
}

// checkSettings checks the settings of a server that runs in this process.
func (c *commands) checkSettings() error {
	if err := c.cfg.Check(); err != nil {
		return cmdline.UsageError{Err: err}
	}
	level, err := c.cfg.Level()
	if err != nil {
		return cmdline.UsageError{Err: err}
	}
	c.log = observe.NewLogger(c.stderr, c.cfg.LogFormat, level)
	return nil
}

// words splits a list between commas.
func words(list string) []string {
	var all []string
	for word := range strings.SplitSeq(list, ",") {
		if word = strings.TrimSpace(word); word != "" {
			all = append(all, word)
		}
	}
	return all
}
