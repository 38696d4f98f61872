package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/urfave/cli/v3"

	"github.com/tandian-dev/tandian/internal/app"
	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/lab/cachebench"
	"github.com/tandian-dev/tandian/lab/compare/queue"
	"github.com/tandian-dev/tandian/lab/lockbench"
	"github.com/tandian-dev/tandian/lab/soak"
	"github.com/tandian-dev/tandian/lab/testbed"
)

// errTandian is the error of a process that ran the command line of a server.
var errTandian = errors.New("the server's command failed")

// processCommand holds the hidden processes that other commands start. Each reads
// questions from its input and ends with it.
func (c *commands) processCommand() *cli.Command {
	return &cli.Command{
		Name: "process", Hidden: true, Usage: "a process that another command starts",
		Commands: []*cli.Command{
			{Name: "cache", Action: func(ctx context.Context, _ *cli.Command) error { return cachebench.Process(ctx, os.Stdin, c.stdout) }},
			{Name: "lock", Action: func(ctx context.Context, _ *cli.Command) error { return lockbench.Process(ctx, os.Stdin, c.stdout) }},
			{Name: "queue", Action: func(context.Context, *cli.Command) error { return queue.Serve(os.Stdin, os.Stdout) }},
			{Name: "live", Action: c.liveProcess},
			{Name: "sale", Action: c.saleProcess},
			{Name: "serve", Flags: c.cfg.Flags(), Before: c.checkSettings, Action: func(ctx context.Context, _ *cli.Command) error {
				return testbed.Process(ctx, os.Stdin, c.stdout, func(ctx context.Context, _ testbed.Setting) (string, error) {
					return startServer(ctx, &c.cfg, c.log)
				})
			}},
			{Name: "soak", Flags: c.cfg.Flags(), Before: c.checkSettings, Action: func(ctx context.Context, _ *cli.Command) error {
				return soak.Process(os.Stdin, c.stdout, func() (string, error) { return startServer(ctx, &c.cfg, c.log) })
			}},
			{Name: "tandian", SkipFlagParsing: true, ArgsUsage: "ARGUMENTS", Action: func(ctx context.Context, cmd *cli.Command) error {
				if code := app.Main(ctx, append([]string{"tandian"}, cmd.Args().Slice()...), c.stdout, c.stderr); code != 0 {
					return fmt.Errorf("%w with exit code %d", errTandian, code)
				}
				return nil
			}},
		},
	}
}

// startServer starts a server without limits of content in this process, and returns its
// address. The server runs until ctx ends.
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
			log.ErrorContext(ctx, "the server ended", "err", err)
		}
		ended <- err
	}()
	select {
	case err := <-ended:
		return "", errors.Join(errors.New("the server ended"), err)
	case <-a.Ready():
		return a.Addr(), nil
	}
}
