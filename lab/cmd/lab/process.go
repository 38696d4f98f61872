package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tandian-dev/tandian/internal/app"
	"github.com/tandian-dev/tandian/internal/cli"
	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/internal/kit/cmdline"
	"github.com/tandian-dev/tandian/lab/cachebench"
	"github.com/tandian-dev/tandian/lab/compare/queue"
	"github.com/tandian-dev/tandian/lab/lockbench"
	"github.com/tandian-dev/tandian/lab/soak"
	"github.com/tandian-dev/tandian/lab/testbed"
)

// errTandian reports that the command line of a server failed.
var errTandian = errors.New("server command failed")

// processCommand returns the hidden commands that other commands start as processes. Except tandian,
// they answer requests from their input and exit when it ends.
func (c *commands) processCommand() *cobra.Command {
	settings := func(f *pflag.FlagSet) { f.AddFlagSet(c.cfg.Flags()) }
	tandian := newCommand(spec{
		Use: "tandian [ARGUMENTS]", Short: "run the command line of a server", Args: cobra.ArbitraryArgs,
		Run: func(ctx context.Context, cmd *call) error {
			if code := cli.Main(ctx, append([]string{"tandian"}, cmd.args...), c.stdout, c.stderr); code != 0 {
				return fmt.Errorf("%w with exit code %d", errTandian, code)
			}
			return nil
		},
	})
	tandian.DisableFlagParsing = true
	process := cmdline.Group(
		"process COMMAND", "run a process that another command starts",
		newCommand(spec{Use: "cache", Short: "serve bench cache", Run: func(ctx context.Context, _ *call) error { return cachebench.Process(ctx, os.Stdin, c.stdout) }}),
		newCommand(spec{Use: "lock", Short: "serve bench lock", Run: func(ctx context.Context, _ *call) error { return lockbench.Process(ctx, os.Stdin, c.stdout) }}),
		newCommand(spec{Use: "queue", Short: "serve bench queue", Run: func(context.Context, *call) error { return queue.Serve(os.Stdin, os.Stdout) }}),
		newCommand(spec{Use: "live", Short: "serve bench live", Run: c.liveProcess}),
		newCommand(spec{Use: "sale", Short: "serve bench sale", Run: c.saleProcess}),
		newCommand(spec{Use: "serve", Short: "serve bench serve", Flags: settings, Before: c.checkSettings, Run: func(ctx context.Context, _ *call) error {
			return testbed.Process(ctx, os.Stdin, c.stdout, func(ctx context.Context, _ testbed.Setting) (string, error) {
				return startServer(ctx, &c.cfg, c.log)
			})
		}}),
		newCommand(spec{Use: "soak", Short: "serve soak", Flags: settings, Before: c.checkSettings, Run: func(ctx context.Context, _ *call) error {
			return soak.Process(os.Stdin, c.stdout, func() (string, error) { return startServer(ctx, &c.cfg, c.log) })
		}}),
		tandian,
	)
	process.Hidden = true
	return process
}

// startServer starts a server without content limits in this process, and returns its address. The
// server runs until ctx ends.
func startServer(ctx context.Context, cfg *config.Config, log *slog.Logger) (addr string, err error) {
	cfg.LiftContentLimits()
	a, err := app.New(cfg, log, io.Discard)
	if err != nil {
		return "", err
	}
	ended := make(chan error, 1)
	go func() {
		err := a.Run(ctx)
		if err != nil {
			log.ErrorContext(ctx, "server failed", "err", err)
		}
		ended <- err
	}()
	select {
	case err := <-ended:
		return "", errors.Join(errors.New("server ended"), err)
	case <-a.Ready():
		return a.Addr(), nil
	}
}
