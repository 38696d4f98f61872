// Command lab measures Tandian and proves its guarantees: benchmarks, comparisons with
// other libraries, and runs that harm whole servers. `go run ./cmd/lab --help`, in the
// folder lab of a checkout, lists its commands.
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
	"slices"
	"strings"
	"syscall"

	"github.com/urfave/cli/v3"

	"github.com/tandian-dev/tandian/internal/app"
	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/lab/compare/cache"
	"github.com/tandian-dev/tandian/lab/compare/live"
	"github.com/tandian-dev/tandian/lab/compare/sale"
)

func main() {
	app.Prepare()
	cache.Hush() // the compared clients log every error that a run provokes
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, os.Args, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run runs the command that args name. It returns the exit code of the process: 0, 1 if
// the command failed, 2 if the call was wrong.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := work(ctx, args, stdout, stderr)
	if err == nil {
		return 0
	}
	_, _ = fmt.Fprintln(stderr, "lab:", err)
	if _, usage := errors.AsType[usageError](err); usage {
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
	return refuseArguments(c.root()).Run(ctx, args)
}

// usageError reports a wrong call.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// refused returns the error of a wrong call.
func refused(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// commands holds what the commands share.
type commands struct {
	cfg            config.Config // of the servers that a command starts in its own process
	log            *slog.Logger
	stdout, stderr io.Writer
}

func (c *commands) root() *cli.Command {
	return &cli.Command{
		Name:      "lab",
		Usage:     "measure Tandian and prove its guarantees",
		UsageText: "go run ./cmd/lab COMMAND [flags]\n\nRun it in the folder lab of a checkout. Most commands start PostgreSQL and Redis servers\nof their own: initdb, postgres and redis-server must be on PATH.",
		Commands: []*cli.Command{
			c.benchCommand(),
			c.faultCommand(),
			c.liveCommand(),
			c.soakCommand(),
			c.clusterCommand(),
			c.mutantsCommand(),
			c.processCommand(),
		},
		Writer: c.stdout, ErrWriter: c.stderr,
		ExitErrHandler: func(context.Context, *cli.Command, error) {}, // run returns the exit code
	}
}

// refuseArguments makes a command and its subcommands refuse arguments that they do not
// use. A command that uses arguments has an ArgsUsage.
func refuseArguments(of *cli.Command) *cli.Command {
	act := of.Action
	switch {
	case act == nil && of.Name != "help":
		of.Action = func(_ context.Context, cmd *cli.Command) error {
			if word := cmd.Args().First(); word != "" {
				return refused("unknown command %q; see --help", word)
			}
			return cli.ShowSubcommandHelp(cmd)
		}
	case act != nil && of.ArgsUsage == "":
		of.Action = func(ctx context.Context, cmd *cli.Command) error {
			if cmd.Args().Present() {
				return refused("%s takes no argument %q; see --help", cmd.FullName(), cmd.Args().First())
			}
			return act(ctx, cmd)
		}
	}
	of.OnUsageError = func(_ context.Context, _ *cli.Command, err error, _ bool) error { return usageError{err} }
	for _, command := range of.Commands {
		refuseArguments(command)
	}
	return of
}

// settings returns the named settings of a server as flags of one command.
func (c *commands) settings(names ...string) (flags []cli.Flag) {
	for _, flag := range c.cfg.Flags() {
		if slices.Contains(names, flag.Names()[0]) {
			flags = append(flags, flag)
		}
	}
	return flags
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
func (c *commands) checkSettings(ctx context.Context, _ *cli.Command) (context.Context, error) {
	if err := c.cfg.Check(); err != nil {
		return ctx, usageError{err}
	}
	level, err := c.cfg.Level()
	if err != nil {
		return ctx, usageError{err}
	}
	c.log = observe.NewLogger(c.stderr, c.cfg.LogFormat, level)
	return ctx, nil
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
