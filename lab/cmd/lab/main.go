// Command lab measures Tandian and tests its guarantees. It runs benchmarks, compares Tandian with
// other libraries, and injects faults into whole servers. Run `go run ./cmd/lab --help` in the
// directory lab of a checkout for its commands.
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

// run runs the command in args. It returns the exit code of the process: 1 if the command failed, 2
// for wrong usage, otherwise 0.
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

// commands holds the shared state of all commands.
type commands struct {
	cfg            config.Config // of servers in this process
	log            *slog.Logger
	stdout, stderr io.Writer
}

func (c *commands) root() *cobra.Command {
	root := cmdline.Group(
		"lab COMMAND", "measure Tandian and test its guarantees",
		c.benchCommand(),
		c.faultCommand(),
		c.liveCommand(),
		c.ratingsCommand(),
		c.soakCommand(),
		c.clusterCommand(),
		c.mutantsCommand(),
		c.processCommand(),
	)
	root.Long = "Run it in the directory lab of a checkout: go run ./cmd/lab COMMAND. Most commands start their own\n" +
		"PostgreSQL and Redis: initdb, postgres and redis-server must be on PATH."
	root.SetOut(c.stdout)
	root.SetErr(c.stderr)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return cmdline.ReadEnvironment(cmd.Flags()) }
	cmdline.Prepare(root, nil)
	return root
}

// spec describes a command. Only Use, Short and Run are required.
type spec struct {
	Use, Short, Long string
	Args             cobra.PositionalArgs // nil allows no arguments
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

// call holds the flags and arguments of a command. Its methods return the value of a flag; they
// panic if the command has no such flag.
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

// settings adds server settings to the flags of a command.
func (c *commands) settings(f *pflag.FlagSet, names ...string) {
	all := c.cfg.Flags()
	for _, name := range names {
		f.AddFlag(all.Lookup(name))
	}
}

// selfCommand returns a function that creates commands for the hidden processes of this program.
func selfCommand(ctx context.Context) (func(args ...string) *exec.Cmd, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find own executable: %w", err)
	}
	return func(args ...string) *exec.Cmd {
		return exec.CommandContext(context.WithoutCancel(ctx), path, append([]string{"process"}, args...)...) //nolint:gosec // this program
	}, nil
}

// process is selfCommand with fixed arguments. The processes write their errors to stderr.
func (c *commands) process(ctx context.Context, args ...string) (func() *exec.Cmd, error) {
	command, err := selfCommand(ctx)
	if err != nil {
		return nil, err
	}
	return func() *exec.Cmd {
		child := command(args...)
		child.Stderr = c.stderr
		return child
	}, nil
}

// checkSettings checks the settings of a server in this process and opens its log.
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

// words splits a comma-separated list and omits empty elements.
func words(list string) []string {
	var all []string
	for word := range strings.SplitSeq(list, ",") {
		if word = strings.TrimSpace(word); word != "" {
			all = append(all, word)
		}
	}
	return all
}
