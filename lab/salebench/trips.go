package salebench

import (
	"context"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// trips counts round trips to Redis: a command, or a pipeline. It is a hook of go-redis. The
// greeting of a new connection also passes the hook, and does not count.
type trips struct {
	callers atomic.Int64 // under the context of an order request
	all     atomic.Int64 // of workers too, as far as their client is hooked
}

// ordering marks the context of an order request.
type ordering struct{}

func (t *trips) count(ctx context.Context, first redis.Cmder) {
	switch first.Name() {
	case "hello", "auth", "client", "select", "readonly", "info": // once per connection
		return
	}
	t.all.Add(1)
	if ctx.Value(ordering{}) != nil {
		t.callers.Add(1)
	}
}

func (t *trips) reset() {
	t.all.Store(0)
	t.callers.Store(0)
}

// DialHook implements [redis.Hook].
func (t *trips) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements [redis.Hook].
func (t *trips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		t.count(ctx, cmd)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook implements [redis.Hook].
func (t *trips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		t.count(ctx, cmds[0])
		return next(ctx, cmds)
	}
}
