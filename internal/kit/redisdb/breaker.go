package redisdb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrBreakerOpen is what a command gets at once, unsent, while the breaker of
// its Redis node is open. The text of an error that wraps it names the node and
// what is wrong with it.
var ErrBreakerOpen error = breakerOpenError{}

type breakerOpenError struct{}

func (breakerOpenError) Error() string { return "the breaker of this Redis is open" }

// Unsent says that Redis never saw the command, to who does not know this package.
func (breakerOpenError) Unsent() bool { return true }

// NotSent reports whether an error says, by a method of this name, that Redis never
// saw the command: [ErrBreakerOpen] does, and what OnConnect refuses by may.
func NotSent(err error) bool {
	e, ok := errors.AsType[interface {
		error
		Unsent() bool
	}](err)
	return ok && e.Unsent()
}

const (
	suspicious   = 3                         // failures in a row that make a breaker ask Redis itself
	probePause   = 150 * time.Millisecond    // between two probes
	probeTimeout = dialTimeout + readTimeout // of one: a connection, its handshake and PING
)

// A breaker spares callers the time-outs of a Redis node that does not answer:
// the circuit breaker of M. Nygard's "Release It!", one for each node.
//
// Callers raise a suspicion, the breaker finds out. After three commands in a
// row that got no answer it sends a PING by a connection of its own; it opens if
// that gets no answer either, and closes as soon as one does. So no live request
// is the trial that closes it (the half-open state of the book), and what is no
// fault of Redis does not open it: a caller's own short deadline, which cannot be
// told from a time-out, or connections that went stale.
//
// It is a hook of the node's client and not its Options.Limiter: FailoverOptions
// has none, and the pipelines of a cluster take what a Limiter says for a lost
// connection, and try three times more with pauses between.
//
// All methods are safe for concurrent use.
type breaker struct {
	name    string // of the node
	role    string
	m       *RedisMetrics
	log     *slog.Logger
	options redis.Options // of the client that probes
	client  *redis.Client // the node's, by a clone that has no hooks

	failures atomic.Int32          // in a row
	watched  atomic.Bool           // watch runs
	refusal  atomic.Pointer[error] // nil while closed
}

// newBreaker returns a closed breaker for the node of client, which must have no
// hooks yet. The caller adds it to client as a hook.
func newBreaker(client *redis.Client, role string, m *RedisMetrics, log *slog.Logger) *breaker {
	o := *client.Options()
	o.MaxRetries, o.PipelinePoolSize, o.MinIdleConns = noRetry, -1, 0
	o.OnConnect = nil // it asks whether the server answers, not whether it may be used
	// One connection is used, but after as many failures to connect as the pool has
	// places, the library would go on trying by itself, for a second after the end.
	o.PoolSize = 2
	o.DisableIdentity = true
	return &breaker{name: o.Addr, role: role, m: m, log: log, options: o, client: client.WithTimeout(readTimeout)}
}

// DialHook is for go-redis.
func (b *breaker) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook is for go-redis.
func (b *breaker) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if refusal := b.refusal.Load(); refusal != nil {
			cmd.SetErr(*refusal)
			return *refusal
		}
		err := next(ctx, cmd)
		b.report(err) //nolint:contextcheck // what it starts belongs to no request
		return err
	}
}

// ProcessPipelineHook is for go-redis.
func (b *breaker) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if refusal := b.refusal.Load(); refusal != nil {
			for _, cmd := range cmds {
				if cmd.Err() == nil { // else a cluster client tries again what this node may have done
					cmd.SetErr(*refusal)
				}
			}
			return *refusal
		}
		err := next(ctx, cmds)
		b.report(err) //nolint:contextcheck // what it starts belongs to no request
		return err
	}
}

// report counts how a round trip ended.
func (b *breaker) report(err error) {
	switch outcomeOf(err) {
	case answered:
		if b.failures.Load() != 0 { // seldom: the counter's cache line stays shared
			b.failures.Store(0)
		}
	case failed:
		if b.failures.Add(1) >= suspicious && b.watched.CompareAndSwap(false, true) {
			go b.watch()
		}
	case unknown:
	}
}

// An outcome is what the end of a round trip says about the node.
type outcome int

const (
	unknown outcome = iota
	answered
	failed
)

func outcomeOf(err error) outcome {
	if err == nil {
		return answered
	}
	if _, reply := errors.AsType[redis.Error](err); reply { // redis.Nil too
		return answered
	}
	// The caller went away, or nothing was sent.
	for _, silent := range []error{context.Canceled, redis.ErrPoolTimeout, redis.ErrPoolExhausted, redis.ErrClosed} {
		if errors.Is(err, silent) {
			return unknown
		}
	}
	if NotSent(err) { // OnConnect refused
		return unknown
	}
	return failed
}

// watch asks the node itself, and cuts it off until it answers.
//
// It runs only then. Nobody waits for its end, because go-redis tells nobody that
// a client was closed (a cluster closes those of nodes that left, too): watch
// asks, and ends half a second later at most.
func (b *breaker) watch() {
	defer b.watched.Store(false)
	defer b.failures.Store(0) // first: the next suspicion needs new failures
	err := b.probe()
	if err == nil {
		time.Sleep(probePause) // unfounded suspicions may come by the thousand
		return
	}
	if b.clientClosed() {
		return
	}
	since := b.open(err)
	defer b.shut()
	for {
		time.Sleep(probePause)
		if b.clientClosed() {
			return
		}
		if b.probe() == nil {
			b.log.Info("Redis answers again", "role", b.role, "node", b.name, "after", time.Since(since))
			return
		}
	}
}

func (b *breaker) open(err error) (since time.Time) {
	refusal := fmt.Errorf("%w: %s: %s", ErrBreakerOpen, b.name, err.Error()) // not err itself: go-redis would try again
	b.refusal.Store(&refusal)
	b.m.open.WithLabelValues(b.role).Inc()
	b.m.opened.WithLabelValues(b.role).Inc()
	b.log.Warn("Redis does not answer and is cut off", "role", b.role, "node", b.name, "err", err)
	return time.Now()
}

func (b *breaker) shut() {
	b.refusal.Store(nil)
	b.m.open.WithLabelValues(b.role).Dec()
}

// probe returns nil if the node answers on a new connection, be it with an error
// (it is loading, it wants another password).
func (b *breaker) probe() error {
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	o := b.options
	client := redis.NewClient(&o)
	defer client.Close()
	err := client.Ping(ctx).Err()
	if outcomeOf(err) == answered {
		return nil
	}
	return err
}

// clientClosed reports whether the client that the breaker guards was closed. A
// pool looks at that before the context, so nothing is sent.
func (b *breaker) clientClosed() bool {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	return errors.Is(b.client.Ping(ended).Err(), redis.ErrClosed)
}
