package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Errors of calls, and causes of the end of a [Lease]'s context.
var (
	// ErrLost means that the lock is lost, or that the store did not confirm it in time.
	ErrLost = errors.New("lock lost")
	// ErrMaxHold means that the lock reached Options.MaxHold or the time of [WithTTL].
	ErrMaxHold = errors.New("lock held for too long")
	// ErrReleased means that the holder released the lock.
	ErrReleased = errors.New("lock released")
	// ErrNoAnswer means that the store did not answer within [WithWait].
	ErrNoAnswer = errors.New("no response in time")
	// ErrClosed means that the Locker is closed.
	ErrClosed = errors.New("locker is closed")
)

// BusyError means that another caller holds the lock. Match it with [errors.AsType].
type BusyError struct{ Name string }

func (e *BusyError) Error() string { return fmt.Sprintf("lock %q is held by another caller", e.Name) }

// Options tunes a [Locker]. The zero value is a good setting.
type Options struct {
	// TTL is the life of a lock without a renewal, and so the wait after a holder dies. Default
	// 8 s, at least 200 ms.
	TTL time.Duration
	// MaxHold limits a renewed lock, in case its holder hangs. Default 5 min; negative: none.
	MaxHold time.Duration
	// NodeTimeout limits one call of one Redis node. Default 200 ms on one node and 50 ms on
	// several. A majority does not wait for a node that hangs.
	NodeTimeout time.Duration
	// Prefix begins the keys in Redis: PREFIX:lock:{NAME}.
	Prefix string
	// Log receives a warning for each lock that ends before its release. Nil: no log.
	Log *slog.Logger
}

func (o *Options) complete() error {
	o.TTL, o.MaxHold = cmp.Or(o.TTL, 8*time.Second), cmp.Or(o.MaxHold, 5*time.Minute)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	switch {
	case o.TTL < minTTL:
		return fmt.Errorf("invalid TTL %v: must be at least %v", o.TTL, minTTL)
	case o.NodeTimeout < 0:
		return fmt.Errorf("invalid NodeTimeout %v: must not be negative", o.NodeTimeout)
	case o.MaxHold >= 0 && o.MaxHold < o.TTL:
		return fmt.Errorf("invalid MaxHold %v: must be at least the TTL of %v", o.MaxHold, o.TTL)
	}
	return nil
}

// minTTL leaves time for a renewal, its repetition and the margin on a busy machine.
const minTTL = 200 * time.Millisecond

// margin is the time between the end of a lease's context and the expiry of its lock.
func margin(ttl time.Duration) time.Duration {
	return max(min(ttl/20, time.Second), 20*time.Millisecond)
}

// Store holds the locks: see [NewRedis] and package dblock.
type Store interface {
	// Try makes one attempt. The error is [BusyError] if another caller holds the lock.
	Try(ctx context.Context, r Request) (Grant, error)
	// Acquire waits for the lock. For each name, one caller of a process waits at a time.
	Acquire(ctx context.Context, r Request) (Grant, error)
}

// Request is one attempt to take a lock.
type Request struct {
	Name   string
	TTL    time.Duration
	Shared bool // see [Shared]
}

// Grant is a lock from a [Store]. Calls of Extend and Release may overlap.
type Grant interface {
	// Until returns the expiry without a renewal. It is called once, first.
	Until() time.Time
	// Extend renews the lock for its whole TTL. It returns [ErrGone] if the lock certainly is.
	Extend(ctx context.Context) (until time.Time, err error)
	// Release releases the lock. It returns [ErrGone] if the lock was lost before. After another
	// error the store retries in the background, and Release may be called again.
	Release(ctx context.Context) error
	// Expire is called when the TTL has passed without a release.
	Expire()
}

// ErrGone is returned by a [Grant] that is certainly lost.
var ErrGone = errors.New("lock no longer exists")

// ErrNotShared is returned by a [Store] without shared locks.
var ErrNotShared = errors.New("shared locks are not supported")

// Locker gives each name to at most one holder among all processes with the same store. It is
// safe for concurrent use.
type Locker struct {
	store Store
	o     Options
	count counts
	life  context.Context //nolint:containedctx // ends waits when the Locker closes
	end   context.CancelCauseFunc
	work  *background

	mu     sync.Mutex
	queues map[string]*localQueue
}

// New returns a Locker on a store.
func New(s Store, o Options) (*Locker, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	l := &Locker{store: s, o: o, work: new(background), queues: make(map[string]*localQueue)}
	l.life, l.end = context.WithCancelCause(context.Background())
	return l, nil
}

// Option is a setting of one call.
type Option func(*call)

type call struct {
	ttl    time.Duration // 0: renewed
	wait   time.Duration // 0: until the context ends
	shared bool
}

// WithTTL takes the lock for a fixed time, at least 200 ms, without renewals. The context of the
// lease ends a little earlier, with [ErrMaxHold]. A nested call ignores it.
func WithTTL(ttl time.Duration) Option { return func(c *call) { c.ttl = ttl } }

// WithWait limits a call. After that time [Locker.Acquire] and [Locker.Do] return [BusyError] if
// the lock is busy. Any call returns [ErrNoAnswer] if the store has not answered. WithWait does
// not limit the context of the lease.
func WithWait(wait time.Duration) Option { return func(c *call) { c.wait = wait } }

// Shared takes a lock that other shared holders may take too. Only package dblock supports it.
func Shared() Option { return func(c *call) { c.shared = true } }

// Try takes a free lock. It returns [BusyError] if another caller holds it, and a wrapped error
// if the store does not answer; the caller then has no lock.
//
// If ctx comes from [Lease.Context], it already holds its lock: Try returns another lease of it
// at once. The lock ends when all its leases are released. The context of the lease is a child
// of ctx.
func (l *Locker) Try(ctx context.Context, name string, options ...Option) (*Lease, error) {
	return l.get(ctx, name, options, l.try)
}

// Acquire waits for a lock until ctx ends, and then returns the cause, wrapped. A store
// that does not answer ends the wait too. Otherwise Acquire behaves like [Locker.Try].
func (l *Locker) Acquire(ctx context.Context, name string, options ...Option) (*Lease, error) {
	return l.get(ctx, name, options, l.acquire)
}

// errWaited is the cause of the end of a limited wait.
var errWaited = errors.New("wait for the lock timed out")

// Do waits for a lock as [Locker.Acquire] does and calls f while it holds the lock. The context
// of f ends before the lock does. The error is that of f, joined with [ErrLost] or [ErrMaxHold]
// if the lock ended before f did.
func (l *Locker) Do(ctx context.Context, name string, f func(context.Context, *Lease) error, options ...Option) (err error) {
	lease, err := l.Acquire(ctx, name, options...)
	if err != nil {
		return err
	}
	defer func() {
		released := lease.Release(ctx)
		switch {
		case errors.Is(released, ErrLost), errors.Is(released, ErrMaxHold):
			err = errors.Join(err, released)
		case released != nil:
			l.o.Log.WarnContext(ctx, "cannot release lock", "lock", name, "err", released)
		}
	}()
	return f(lease.Context(), lease) //nolint:contextcheck // a child of ctx
}

// Close ends all waits and grants no more locks. It returns when the background work has ended
// or ctx ends. Locks that are still held are not renewed any more.
func (l *Locker) Close(ctx context.Context) error {
	l.end(ErrClosed)
	return l.work.close(ctx)
}

func (l *Locker) get(ctx context.Context, name string, options []Option, take func(context.Context, Request) (Grant, error)) (*Lease, error) {
	var c call
	for _, o := range options {
		o(&c)
	}
	if err := check(name, c); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("take lock %q: %w", name, context.Cause(ctx))
	}
	if lease := l.held(ctx, name); lease != nil {
		return lease, nil
	}
	if l.life.Err() != nil {
		return nil, fmt.Errorf("take lock %q: %w", name, ErrClosed)
	}
	attempt := ctx
	if c.wait > 0 {
		bounded, cancel := context.WithTimeoutCause(ctx, c.wait, errWaited)
		defer cancel()
		attempt = bounded
	}
	g, err := take(attempt, Request{name, cmp.Or(c.ttl, l.o.TTL), c.shared})
	if err != nil {
		if busy, ok := errors.AsType[*BusyError](err); ok {
			return nil, busy
		}
		if ctx.Err() == nil && !errors.Is(err, ErrClosed) {
			l.count.failed.Add(1)
		}
		return nil, fmt.Errorf("take lock %q: %w", name, err)
	}
	l.count.acquired.Add(1)
	return l.hold(ctx, name, g, c), nil
}

// maxName limits a name in bytes: it is a part of keys.
const maxName = 200

func check(name string, c call) error {
	switch {
	case name == "" || len(name) > maxName:
		return fmt.Errorf("invalid lock name of %d bytes: must have 1 to %d", len(name), maxName)
	case name[0] == '}':
		return fmt.Errorf("invalid lock name %q: must not begin with a closing brace", name) // Redis finds no hash tag then
	case c.ttl != 0 && c.ttl < minTTL:
		return fmt.Errorf("invalid TTL %v: must be at least %v", c.ttl, minTTL)
	case c.wait < 0:
		return fmt.Errorf("invalid wait %v: must not be negative", c.wait)
	}
	return nil
}
