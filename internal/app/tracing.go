package app

import (
	"context"
	"runtime/debug"

	"github.com/tandian-dev/tandian/internal/kit/observe"
)

// trace begins to send traces, if the environment names a collector. Call end
// last of all: what closes before may still have something to tell.
func (a *App) trace(ctx context.Context) (end func(), err error) {
	if a.tracing, err = observe.NewTracing(ctx, version(), a.log); err != nil {
		return nil, err
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.cfg.StopTimeout)
		defer cancel()
		a.tracing.Close(ctx)
	}, nil
}

// version is that of the program, as its build knows it.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}
