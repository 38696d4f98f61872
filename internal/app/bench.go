package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"

	"github.com/tandian-dev/tandian/internal/config"
)

// startMeasured starts a server that is measured, in the process that is to serve until it
// ends, and returns its address.
func startMeasured(ctx context.Context, cfg *config.Config, log *slog.Logger) (addr string, err error) {
	cfg.LiftContentLimits()
	a, err := New(cfg, log, io.Discard)
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

// program makes commands that run this program once more.
func program(ctx context.Context) (func(args ...string) *exec.Cmd, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program, to start it again: %w", err)
	}
	return func(args ...string) *exec.Cmd {
		return exec.CommandContext(context.WithoutCancel(ctx), path, args...) //nolint:gosec // it is this program
	}, nil
}

// again is program for one command, whose errors are seen.
func (c *commands) again(ctx context.Context, args ...string) (func() *exec.Cmd, error) {
	run, err := program(ctx)
	if err != nil {
		return nil, err
	}
	return func() *exec.Cmd {
		child := run(args...)
		child.Stderr = c.stderr
		return child
	}, nil
}
