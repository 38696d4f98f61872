package store

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// together is a go-redis hook that sends what many callers ask for at one moment in one
// pipeline. As long as few round trips are under way, a command goes at once and by itself;
// behind these, commands and pipelines wait for the next place and share it. So nobody waits
// for a timer, and the more callers there are, the fewer packets, reads and writes each of
// them costs, here and in Redis.
//
// A caller always waits until its commands are answered or given up: they belong to the
// pipeline until then. That is after the client's timeout at the latest, which counts from
// the first caller of a pipeline on, waiting included. Whose context ends before that goes by
// itself.
type together struct {
	most    int           // round trips under way
	timeout time.Duration // of one, waiting included

	pipeline redis.ProcessPipelineHook // of the client
	bound    bool                      // the client has asked for its hooks

	mu      sync.Mutex
	running int
	waiting []*company // the first is the next
}

const (
	mostTrips    = 2   // at a time, of those that are shared
	mostTogether = 200 // commands in one pipeline
	mostApart    = 50  // commands of a caller, who then has no need of company
)

// company are commands that go together.
type company struct {
	cmds []redis.Cmder
	ends time.Time
	turn chan struct{} // closed when the first caller may go
	done chan struct{} // closed when all commands have their answers
}

// bindTogether adds the hook to a client that nobody uses yet, behind its other hooks.
//
// go-redis gives the hooks of a client to each of its connections too, and asks them anew
// then: what is said on a connection while it is opened belongs there and nowhere else. So
// only the client's own chain, which it makes at once, goes through here.
func bindTogether(client *redis.Client, timeout time.Duration) {
	t := &together{most: mostTrips, timeout: timeout}
	client.AddHook(t)
	t.bound = true
}

// DialHook is for go-redis.
func (t *together) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook is for go-redis.
func (t *together) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	if t.bound {
		return next
	}
	return func(ctx context.Context, cmd redis.Cmder) error {
		if t.apart(ctx, cmd) {
			return next(ctx, cmd)
		}
		if t.alone(ctx, cmd) {
			defer t.leave()
			return next(ctx, cmd)
		}
		return cmd.Err()
	}
}

// ProcessPipelineHook is for go-redis, which asks first for that of pipelines and then for
// that of MULTI, which goes alone.
func (t *together) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	if t.bound || t.pipeline != nil {
		return next
	}
	t.pipeline = next
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if len(cmds) > mostApart || slices.ContainsFunc(cmds, func(cmd redis.Cmder) bool { return t.apart(ctx, cmd) }) {
			return next(ctx, cmds)
		}
		if t.alone(ctx, cmds...) {
			defer t.leave()
			return next(ctx, cmds)
		}
		for _, cmd := range cmds {
			if err := cmd.Err(); err != nil {
				return err //nolint:wrapcheck // as go-redis has it
			}
		}
		return nil
	}
}

// apart says whether a command goes by itself: one that may take long, or whose caller has
// less time than others.
func (t *together) apart(ctx context.Context, cmd redis.Cmder) bool {
	switch cmd.Name() {
	case "blpop", "brpop", "blmove", "brpoplpush", "blmpop", "bzpopmin", "bzpopmax", "bzmpop", "xread", "xreadgroup",
		"wait", "waitaof", "scan", "sscan", "hscan", "zscan", "info", "config", "script", "client", "cluster", "memory", "ping":
		return true
	}
	ends, limited := ctx.Deadline()
	return limited && time.Until(ends) < t.timeout
}

// leave gives a place to those who wait longest.
func (t *together) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) == 0 {
		t.running--
		return
	}
	close(t.waiting[0].turn)
	t.waiting = slices.Delete(t.waiting, 0, 1)
}

// alone takes a place under way, if there is one, for commands that go by themselves: the
// caller has to leave it. Else they go with a company, and are answered when it returns.
func (t *together) alone(ctx context.Context, cmds ...redis.Cmder) bool {
	t.mu.Lock()
	if t.running < t.most {
		t.running++
		t.mu.Unlock()
		return true
	}
	if n := len(t.waiting); n > 0 && len(t.waiting[n-1].cmds)+len(cmds) <= mostTogether {
		c := t.waiting[n-1]
		c.cmds = append(c.cmds, cmds...)
		t.mu.Unlock()
		<-c.done
		return false
	}
	c := &company{cmds: slices.Clone(cmds), ends: time.Now().Add(t.timeout), turn: make(chan struct{}), done: make(chan struct{})}
	t.waiting = append(t.waiting, c)
	t.mu.Unlock()
	<-c.turn
	t.send(ctx, c)
	return false
}

// send sends a company on its place, which it gives back.
func (t *together) send(ctx context.Context, c *company) {
	defer t.leave()
	defer close(c.done)
	_ = t.pipeline(until{context.WithoutCancel(ctx), c.ends}, c.cmds) //nolint:contextcheck // it is of the context; each command has its own error
}

// until is a context that says a deadline and does not act on it: a client puts it on its
// socket.
type until struct {
	context.Context
	ends time.Time
}

// Deadline is that of a whole company, whosever the context was.
func (u until) Deadline() (time.Time, bool) { return u.ends, true }
