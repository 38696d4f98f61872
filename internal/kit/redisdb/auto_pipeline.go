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
	maxPipelines      = 2   // that run at once
	maxPipelineCalls  = 200 // callers of one pipeline
	maxSharedCommands = 50  // of one caller; a larger pipeline goes alone
)

// autoPipeline is a go-redis hook that sends the commands of many callers in one pipeline.
// While fewer than maxPipelines are under way, a command goes at once and alone. Otherwise
// commands and small pipelines wait for the next pipeline. So no caller waits for a timer,
// and the more callers there are, the fewer packets, reads and writes each of them costs.
//
// A caller waits until its commands are answered: until then they belong to the pipeline. The
// client's timeout bounds that, counted from the first caller of the pipeline, with the wait.
// A command whose context ends sooner goes alone.
//
// [redis.Client.AutoPipeline] does not replace it. It ignores the contexts of queued commands
// and leaves pipelines of callers out. A command without company costs it twice the CPU.
type autoPipeline struct {
	timeout  time.Duration
	pipeline redis.ProcessPipelineHook // of the client
	bound    bool                      // the client has asked for its hooks
	calls    *batch.Batcher[commands, struct{}]
}

// commands are those of one caller.
type commands struct {
	cmds []redis.Cmder
	ends time.Time
}

// bindAutoPipeline adds the hook to an unused client, behind its other hooks.
//
// go-redis gives the hooks of a client to each of its connections too, and asks for them
// again then. A command for one connection must stay on that connection. So the hook serves
// only the client's own chain, which AddHook builds.
func bindAutoPipeline(client *redis.Client, timeout time.Duration) {
	p := &autoPipeline{timeout: timeout}
	p.calls = batch.New(p.run, batch.Config{
		Max: maxPipelineCalls, Groups: maxPipelines, Backlog: 1, Timeout: -1,
		Shared: func(error) bool { return true }, // never send a command twice
	})
	client.AddHook(p)
	p.bound = true
}

// DialHook is for go-redis.
func (p *autoPipeline) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook is for go-redis.
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

// ProcessPipelineHook is for go-redis, which asks first for the hook of pipelines and then
// for that of MULTI. A MULTI goes alone.
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

// share sends commands with those of other callers, and returns the first error of its own.
// It reports false if the commands have to go alone.
func (p *autoPipeline) share(ctx context.Context, cmds ...redis.Cmder) (sent bool, err error) {
	if len(cmds) > maxSharedCommands || !p.mayWait(ctx) || slices.ContainsFunc(cmds, goesAlone) {
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

// mayWait reports whether a context outlasts the client's timeout.
func (p *autoPipeline) mayWait(ctx context.Context) bool {
	ends, limited := ctx.Deadline()
	return ctx.Err() == nil && (!limited || time.Until(ends) >= p.timeout)
}

// goesAlone reports whether a command may take long.
func goesAlone(cmd redis.Cmder) bool {
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
