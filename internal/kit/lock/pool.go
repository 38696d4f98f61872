package lock

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
)

// pool is a node as redsync sees it. What redsync does with it is told to the
// sink in its context.
type pool struct {
	s    *nodes
	node int
}

// mutex is what redsync is asked by for a claim. One that fails fast does not wait
// for nodes that cannot change the outcome: a node that hangs would be waited for.
func (c *claim) mutex(failFast bool) *redsync.Mutex {
	return c.s.sync.NewMutex(c.keys.lock,
		redsync.WithExpiry(c.ttl), redsync.WithTries(1), redsync.WithFailFast(failFast),
		redsync.WithValue(c.value), redsync.WithGenValueFunc(func() (string, error) { return c.value, nil }))
}

// failFast reports whether fewer than all nodes are enough.
func (s *nodes) failFast() bool { return s.need < len(s.all) }

// sinkKey is where the context of redsync has its sink: a *claim that asks for
// the lock, or an *outcome.
type sinkKey struct{}

func (p pool) Get(ctx context.Context) (redsyncredis.Conn, error) {
	if !p.s.tasks.enter() {
		return nil, ErrClosed
	}
	return &conn{ctx: ctx, pool: p}, nil
}

// conn is what redsync does with a node in one step of a mutex.
type conn struct {
	ctx context.Context //nolint:containedctx // redsync passes it to the pool only
	pool
}

func (n *conn) Close() error {
	n.s.tasks.leave()
	return nil
}

// SetNX is how redsync asks for the lock: the claim in the context does.
func (n *conn) SetNX(string, string, time.Duration) (bool, error) {
	c, ok := n.ctx.Value(sinkKey{}).(*claim)
	if !ok {
		return false, errNotAsked
	}
	return c.set(n.ctx, n.node)
}

// Eval is how redsync releases and extends. Its own scripts say too little.
func (n *conn) Eval(*redsyncredis.Script, ...any) (any, error) {
	switch sink := n.ctx.Value(sinkKey{}).(type) {
	case *claim: // the attempt failed
		sink.undo(n.node)
		return int64(0), nil
	case *outcome:
		return sink.of(n.ctx, n.node)
	}
	return nil, errNotAsked
}

var errNotAsked = errors.New("redsync does not do this to a lock")

// Get and the others are for what redsync is not asked for.
func (*conn) Get(string) (string, error)            { return "", errNotAsked }
func (*conn) Set(string, string) (bool, error)      { return false, errNotAsked }
func (*conn) ScriptLoad(*redsyncredis.Script) error { return errNotAsked }
func (*conn) PTTL(string) (time.Duration, error)    { return 0, errNotAsked }

// outcome is what the nodes say to a claim that is extended or released.
type outcome struct {
	claim *claim
	run   func(ctx context.Context, node int) (int64, error)

	mu        sync.Mutex
	yes, gone int
}

// of asks one node.
func (o *outcome) of(ctx context.Context, node int) (int64, error) {
	got, err := o.run(ctx, node)
	if err != nil {
		return 0, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if got == 1 {
		o.yes++
	} else {
		o.gone++
	}
	return got, nil
}

// sum is how many nodes had the lock, and how many had not, of those that were
// waited for.
func (o *outcome) sum() (yes, gone int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.yes, o.gone
}
