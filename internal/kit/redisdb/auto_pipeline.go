package redisdb

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/batch"
)

const (
	maxPipelines      = 2   // in parallel
	maxPipelineCalls  = 200 // callers per pipeline
	maxSharedCommands = 50  // per caller; a larger pipeline is sent separately
)

// autoPipeline is a go-redis hook that sends the commands of many callers in one pipeline. While
// fewer than maxPipelines are running, it sends a command at once. Otherwise commands and small
// pipelines wait for the next pipeline. So no caller waits for a timer, and the cost per caller in
// packets, reads and writes falls with load.
//
// A caller waits for all of its replies, because the pipeline owns its commands until then. The
// client's timeout limits the wait and the round trip together. It starts with the first caller of
// the pipeline. A command whose context ends earlier is sent separately.
//
// [redis.Client.AutoPipeline] is no replacement. It ignores the contexts of queued commands and
// does not merge the callers' pipelines. It takes twice the CPU for a single command.
type autoPipeline struct {
	timeout  time.Duration
	pipeline redis.ProcessPipelineHook // of the client
	bound    bool                      // go-redis has built the client's own chain
	calls    *batch.Batcher[commands, struct{}]
}

// commands are the commands of one caller.
type commands struct {
	cmds []redis.Cmder
	ends time.Time
}

// bindAutoPipeline adds the hook to an unused client, after its other hooks.
//
// go-redis also builds a hook chain for each connection. A command for one connection must stay on
// it. So the hook acts only in the client's own chain, which AddHook builds.
func bindAutoPipeline(client *redis.Client, timeout time.Duration) {
	p := &autoPipeline{timeout: timeout}
	p.calls = batch.New(p.run, batch.Config{
		Max: maxPipelineCalls, Groups: maxPipelines, Backlog: 1, Timeout: -1,
		Shared: func(error) bool { return true }, // never send a command twice
	})
	client.AddHook(p)
	p.bound = true
}

// DialHook implements [redis.Hook].
func (p *autoPipeline) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements [redis.Hook].
func (p *autoPipeline) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	if p.bound {
		return next
	}
	return func(ctx context.Context, cmd redis.Cmder) error {
		if sent, err := p.share(ctx, cmd); sent {
			return err
		}
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook implements [redis.Hook]. go-redis calls it first for pipelines and then for
// transactions, which are sent separately.
func (p *autoPipeline) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	if p.bound || p.pipeline != nil {
		return next
	}
	p.pipeline = next
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if sent, err := p.share(ctx, cmds...); sent {
			return err
		}
		return next(ctx, cmds)
	}
}

// share sends commands in a shared pipeline and returns their first error. sent is false if the
// commands must be sent separately.
func (p *autoPipeline) share(ctx context.Context, cmds ...redis.Cmder) (sent bool, err error) {
	if len(cmds) > maxSharedCommands || !p.mayWait(ctx) || slices.ContainsFunc(cmds, sentSeparately) {
		return false, nil
	}
	_, err = p.calls.Join(context.WithoutCancel(ctx), commands{cmds, time.Now().Add(p.timeout)})
	if err != nil {
		return !errors.Is(err, batch.ErrBusy), err //nolint:wrapcheck // of this package's own call
	}
	for _, cmd := range cmds {
		if err := cmd.Err(); err != nil {
			return true, err //nolint:wrapcheck // as go-redis returns it
		}
	}
	return true, nil
}

// mayWait reports whether ctx outlasts the client's timeout.
func (p *autoPipeline) mayWait(ctx context.Context) bool {
	ends, limited := ctx.Deadline()
	return ctx.Err() == nil && (!limited || time.Until(ends) >= p.timeout)
}

// sentSeparately reports whether a command may block, may be slow or concerns one connection.
func sentSeparately(cmd redis.Cmder) bool {
	switch cmd.Name() {
	case "blpop", "brpop", "blmove", "brpoplpush", "blmpop", "bzpopmin", "bzpopmax", "bzmpop", "xread", "xreadgroup",
		"wait", "waitaof", "scan", "sscan", "hscan", "zscan", "info", "config", "script", "client", "cluster", "memory", "ping":
		return true
	}
	return false
}

// run sends the commands of a group in one pipeline. Each command gets its own error.
func (p *autoPipeline) run(ctx context.Context, calls []*batch.Call[commands, struct{}]) (func(), error) {
	cmds := calls[0].In.cmds
	if len(calls) > 1 {
		cmds = slices.Clone(cmds)
		for _, c := range calls[1:] {
			cmds = append(cmds, c.In.cmds...)
		}
	}
	ctx, cancel := context.WithDeadline(ctx, calls[0].In.ends)
	defer cancel()
	_ = p.pipeline(ctx, cmds)
	return nil, nil
}
