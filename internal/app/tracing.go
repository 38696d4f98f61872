package app

import (
	"context"

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
