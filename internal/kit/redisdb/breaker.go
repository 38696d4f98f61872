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

// ErrBreakerOpen is returned, and the command is not sent, while the breaker of its node is open or
// its [WriteGate] is closed. The wrapping error has the node or the role, and the cause.
var ErrBreakerOpen error = breakerOpenError{}

type breakerOpenError struct{}

func (breakerOpenError) Error() string { return "Redis circuit breaker is open" }

// Unsent returns true: Redis never received the command. Other packages call it without importing
// this one.
func (breakerOpenError) Unsent() bool { return true }

// NotSent reports whether Redis never received the command: err has a method Unsent() bool that
// returns true. This holds for [ErrBreakerOpen], and may hold for errors of OnConnect.
func NotSent(err error) bool {
	e, ok := errors.AsType[interface {
		error
		Unsent() bool
	}](err)
	return ok && e.Unsent()
}

const (
	failuresBeforeProbe = 3                         // consecutive failures that trigger a probe
	probePause          = 150 * time.Millisecond    // between two probes
	probeTimeout        = dialTimeout + readTimeout // of one probe: connection, handshake and PING
)

// A breaker protects callers from the timeouts of a Redis node that does not answer. It is the
// circuit breaker of M. Nygard's "Release It!", one per node.
//
// After three consecutive commands without a reply, it sends a PING on its own connection. It opens
// if the PING gets no reply, and closes at the next PING that does. So it needs no live request as
// a trial (the half-open state of the book). Failures that are not Redis's fault do not open it: a
// caller's short deadline, which looks like a timeout, or stale connections.
//
// It is a hook of the node's client. Options.Limiter would not do: FailoverOptions has none. A
// cluster's pipelines treat a Limiter's error as a lost connection, and retry three times.
//
// All methods are safe for concurrent use.
type breaker struct {
	name    string // of the node
	role    string
	m       *RedisMetrics
	log     *slog.Logger
	options redis.Options // of the probing client
	client  *redis.Client // the node's client, cloned without hooks

	failures atomic.Int32          // consecutive
	watched  atomic.Bool           // watch is running
	refusal  atomic.Pointer[error] // nil while closed
}

// newBreaker returns a closed breaker for the node of client, which must have no hooks yet. The
// caller adds it to client as a hook.
func newBreaker(client *redis.Client, role string, m *RedisMetrics, log *slog.Logger) *breaker {
	o := *client.Options()
	o.MaxRetries, o.PipelinePoolSize, o.MinIdleConns = noRetry, -1, 0
	o.OnConnect = nil // a probe checks whether the server answers, not whether it may be used
	// A probe uses one connection. But after PoolSize failed dials, go-redis would dial in the
	// background, until a second after Close.
	o.PoolSize = 2
	o.DisableIdentity = true
	return &breaker{name: o.Addr, role: role, m: m, log: log, options: o, client: client.WithTimeout(readTimeout)}
}

// DialHook implements [redis.Hook].
func (b *breaker) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements [redis.Hook].
func (b *breaker) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if refusal := b.refusal.Load(); refusal != nil {
			cmd.SetErr(*refusal)
			return *refusal
		}
		err := next(ctx, cmd)
		b.report(err) //nolint:contextcheck // it starts background work
		return err
	}
}

// ProcessPipelineHook implements [redis.Hook].
func (b *breaker) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if refusal := b.refusal.Load(); refusal != nil {
			for _, cmd := range cmds {
				if cmd.Err() == nil { // otherwise a cluster client retries commands that this node may have run
					cmd.SetErr(*refusal)
				}
			}
			return *refusal
		}
		err := next(ctx, cmds)
		b.report(err) //nolint:contextcheck // it starts background work
		return err
	}
}

// report records the result of a round trip.
func (b *breaker) report(err error) {
	switch outcomeOf(err) {
	case answered:
		if b.failures.Load() != 0 { // rare, so the counter's cache line stays shared
			b.failures.Store(0)
		}
	case failed:
		if b.failures.Add(1) >= failuresBeforeProbe && b.watched.CompareAndSwap(false, true) {
			go b.watch()
		}
	case unknown:
	}
}

// An outcome is the evidence of a round trip about its node.
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
	// The caller gave up, or nothing was sent.
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

// watch probes the node, and opens the breaker until it answers.
//
// No caller waits for its end: go-redis does not report that a client was closed, and a cluster also
// closes clients of removed nodes. watch polls for that. It ends within probePause + probeTimeout
// after the close.
func (b *breaker) watch() {
	defer b.watched.Store(false)
	defer b.failures.Store(0) // first: the next probe needs new failures
	err := b.probe()
	if err == nil {
		time.Sleep(probePause) // there may be thousands of false alarms
		return
	}
	if b.clientClosed() {
		return
	}
	since := b.open(err)
	defer b.close()
	for {
		time.Sleep(probePause)
		if b.clientClosed() {
			return
		}
		if b.probe() == nil {
			b.log.Info("Redis circuit breaker closed", "role", b.role, "node", b.name, "after", time.Since(since))
			return
		}
	}
}

func (b *breaker) open(err error) (since time.Time) {
	refusal := fmt.Errorf("%w: %s: %s", ErrBreakerOpen, b.name, err.Error()) // not err itself: go-redis would retry
	b.refusal.Store(&refusal)
	b.m.open.WithLabelValues(b.role).Inc()
	b.m.opened.WithLabelValues(b.role).Inc()
	b.log.Warn("Redis circuit breaker opened", "role", b.role, "node", b.name, "err", err)
	return time.Now()
}

func (b *breaker) close() {
	b.refusal.Store(nil)
	b.m.open.WithLabelValues(b.role).Dec()
}

// probe returns nil if the node answers on a new connection, even with an error: it is loading, or
// wants another password.
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

// clientClosed reports whether the node's client was closed. A pool checks this before it checks the
// context, which has ended, so no PING is sent.
func (b *breaker) clientClosed() bool {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	return errors.Is(b.client.Ping(ended).Err(), redis.ErrClosed)
}
