package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Reasons why a lock is not held, of a [Lease]'s context and of calls.
var (
	// ErrLost says that the lock is not the holder's any more, or that the store
	// did not say so in time: it must be taken for another's.
	ErrLost = errors.New("the lock was lost")
	// ErrMaxHold says that the lock was held for as long as it may be: for
	// Options.MaxHold, or for the time of [For].
	ErrMaxHold = errors.New("the lock was held for as long as it may be")
	// ErrReleased says that the holder gave the lock up.
	ErrReleased = errors.New("the lock was released")
	// ErrClosed says that the Locker takes no more locks.
	ErrClosed = errors.New("the locker is closed")
)

// Busy says that somebody else holds a lock. Find it with [errors.AsType].
type Busy struct { //nolint:errname // lock.Busy says it all
	Name string
	// For is how long the holder has the lock yet unless it renews it or gives it
	// up, as the store said; 0 where the store does not say.
	For time.Duration
}

func (b *Busy) Error() string { return fmt.Sprintf("the lock %q is held by somebody else", b.Name) }

// Options says how a Locker locks. The zero value is a good setting.
type Options struct {
	// TTL is how long a lock lasts without a renewal: the time that others wait for
	// a holder that died. Default 8 s, at least 200 ms.
	TTL time.Duration
	// MaxHold bounds a lock that is renewed, for instance one whose holder hangs.
	// Default 5 min.
	MaxHold time.Duration
	// NodeTimeout is the longest wait for one Redis node's answer, which must not take
	// the time that the lock is valid. Default TTL / 20, but 20 to 200 ms.
	NodeTimeout time.Duration
	// AllNodes wants all Redis nodes and not a majority: one node that remembers a
	// lock is enough to keep a second holder out, and one that is away is enough to
	// keep everybody from locking, and from waiting.
	AllNodes bool
	// Prefix begins every key in Redis, if there is one: PREFIX:lock:{NAME}.
	Prefix string
	// Log hears of locks that were lost or held for too long, by name; nil for
	// nobody. Names are not secret.
	Log *slog.Logger
}

func (o *Options) complete() error {
	o.TTL, o.MaxHold = cmp.Or(o.TTL, 8*time.Second), cmp.Or(o.MaxHold, 5*time.Minute)
	o.NodeTimeout = cmp.Or(o.NodeTimeout, max(min(o.TTL/20, 200*time.Millisecond), 20*time.Millisecond))
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	switch {
	case o.TTL < minTTL:
		return fmt.Errorf("a lock's TTL is at least %v, not %v", minTTL, o.TTL)
	case o.NodeTimeout < 0:
		return fmt.Errorf("a node's time-out of %v", o.NodeTimeout)
	case o.MaxHold < o.TTL:
		return fmt.Errorf("a lock's MaxHold is at least its TTL of %v, not %v", o.TTL, o.MaxHold)
	}
	return nil
}

// minTTL leaves room for a renewal, its repetition and the guard on a busy machine.
const minTTL = 200 * time.Millisecond

// guard is how long before its validity ends a lock's work is told to stop.
func guard(ttl time.Duration) time.Duration {
	return max(min(ttl/20, time.Second), 20*time.Millisecond)
}

// store is where locks are.
type store interface {
	// try makes one attempt. The error is *Busy if somebody else holds the lock.
	// A lock that is granted after ctx ended is given up, and ctx's cause returned.
	try(ctx context.Context, name string, ttl time.Duration) (grant, error)
	// wait prepares to wait for a name, once for all who do so in this process.
	wait(name string) waiting
	// close ends what the store does by itself.
	close(ctx context.Context) error
}

// waiting is the wait for one name. Only one caller at a time takes part.
type waiting interface {
	// take makes attempts until it is granted the lock or ctx ends. It sends nothing
	// while somebody else holds the lock and nothing happens to it. Who was refused a
	// moment ago says so.
	take(ctx context.Context, ttl time.Duration, refused *Busy) (grant, error)
	close()
}

// grant is a lock that the store gave.
type grant interface {
	token() int64
	until() time.Time // how long it is valid without an extension
	// extend makes it valid again for its whole life, and returns until when. The
	// error is errGone if it is known to be lost. ctx ends when it is too late.
	extend(ctx context.Context) (until time.Time, err error)
	// release gives it up. The error is errGone if it was not there any more. With
	// another error the store goes on trying by itself. It may be called again.
	release(ctx context.Context) error
	// lapse is called when its validity ended with nobody having released it.
	lapse()
}

var errGone = errors.New("it is not there any more")

// Locker gives locks: at most one holder of a name at a time, over all
// processes with the same store. See the package's documentation for what that
// is worth. It is safe for concurrent use.
type Locker struct {
	store store
	o     Options
	tasks tasks // renewals
	watch watch

	life  context.Context //nolint:containedctx // ends the waits that have other contexts
	end   context.CancelCauseFunc
	count *counts

	mu     sync.Mutex
	queues map[string]*queue
}

type counts struct{ grants, attempts, refusals, lost, maxHold atomic.Int64 }

func newLocker(s store, o Options, n *counts) *Locker {
	l := &Locker{store: s, o: o, count: n, queues: make(map[string]*queue)}
	l.life, l.end = context.WithCancelCause(context.Background())
	return l
}

// Option is a setting of one call.
type Option func(*call)

type call struct {
	lease  time.Duration // given; 0 to renew
	within time.Duration // 0 for as long as the context lasts
}

// For takes the lock for a given time, after which it ends without having been
// renewed. The work's context ends before, with [ErrMaxHold]: by a hundredth of the
// time, and a twentieth or a second. At least 200 ms. Inside of a lock that the context holds already it has no effect.
func For(lease time.Duration) Option { return func(c *call) { c.lease = lease } }

// Within bounds the wait of [Locker.Acquire] and [Locker.Do], which end with
// [Busy] then. The context of the work is not bounded by it.
func Within(wait time.Duration) Option { return func(c *call) { c.within = wait } }

// Try takes a lock if nobody holds it. The error is [Busy] if somebody does, or, on
// several nodes, if its attempt met others at the same moment. It is what the
// store said, wrapped, if that cannot be asked; the lock is not held then, or soon
// given up.
//
// A context that holds the lock already, because it comes from [Lease.Context],
// is granted it again: the lock ends when all of its leases are released.
//
// The context that the lease has is a child of ctx.
func (l *Locker) Try(ctx context.Context, name string, options ...Option) (*Lease, error) {
	return l.get(ctx, name, options, func(ctx context.Context, c call) (grant, error) {
		return l.store.try(ctx, name, c.ttl(l.o))
	})
}

// Acquire takes a lock, and waits for it until ctx ends, whose cause it returns
// then, wrapped. In one process they who wait come one after the other, in the
// order of their calls. Otherwise it is as [Locker.Try]: a store that cannot be
// asked ends the wait.
func (l *Locker) Acquire(ctx context.Context, name string, options ...Option) (*Lease, error) {
	return l.get(ctx, name, options, func(ctx context.Context, c call) (grant, error) {
		if c.within > 0 {
			bounded, cancel := context.WithTimeoutCause(ctx, c.within, errWithin)
			defer cancel()
			ctx = bounded
		}
		g, err := l.acquire(ctx, name, c.ttl(l.o))
		if errors.Is(err, errWithin) {
			err = &Busy{Name: name}
		}
		return g, err
	})
}

// errWithin ends a wait that has a bound, but not an attempt: one that is not
// answered says nothing about other holders.
var errWithin = errors.New("the lock was not free in time")

// Do calls f while it holds a lock, for which it waits as [Locker.Acquire] does.
// The context of f ends before the lock does. The error is that of f, joined with
// [ErrLost] or [ErrMaxHold] if the lock ended before f did: what f did then may
// have met another holder. A lock that could not be given up is logged and ends
// by itself.
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
			l.o.Log.WarnContext(ctx, "a lock could not be given up and ends by itself", "lock", name, "err", released)
		}
	}()
	return f(lease.Context(), lease) //nolint:contextcheck // it is a child of ctx
}

// Close takes no more locks, ends the waits for them, and returns when nothing
// goes on in the background or ctx ends. Locks that are held are not renewed any
// more; their holders should have released them, which may be too late then.
func (l *Locker) Close(ctx context.Context) error {
	l.end(ErrClosed)
	err := l.tasks.close(ctx)
	return errors.Join(err, l.store.close(ctx))
}

// Stats are counts since the start.
type Stats struct {
	Attempts int64 // at the store
	Refusals int64 // of them, because of another holder
	Grants   int64 // locks taken, without those taken again by their holder
	Lost     int64 // locks that ended before they were released
	MaxHold  int64 // locks that were held for as long as they may be
}

// Stats returns the counts so far.
func (l *Locker) Stats() Stats {
	n := l.count
	return Stats{n.attempts.Load(), n.refusals.Load(), n.grants.Load(), n.lost.Load(), n.maxHold.Load()}
}

func (c call) ttl(o Options) time.Duration { return cmp.Or(c.lease, o.TTL) }

func (l *Locker) get(ctx context.Context, name string, options []Option, ask func(context.Context, call) (grant, error)) (*Lease, error) {
	var c call
	for _, o := range options {
		o(&c)
	}
	if err := check(name, c); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("lock %q: %w", name, context.Cause(ctx))
	}
	if lease := l.held(ctx, name); lease != nil {
		return lease, nil
	}
	if l.life.Err() != nil {
		return nil, fmt.Errorf("lock %q: %w", name, ErrClosed)
	}
	g, err := ask(ctx, c)
	if err != nil {
		if busy, ok := errors.AsType[*Busy](err); ok {
			return nil, busy
		}
		return nil, fmt.Errorf("lock %q: %w", name, err)
	}
	l.count.grants.Add(1)
	return l.hold(ctx, name, g, c), nil
}

// maxName bounds a lock's name: it is part of keys, and of rows.
const maxName = 200

func check(name string, c call) error {
	switch {
	case name == "" || len(name) > maxName:
		return fmt.Errorf("the name of a lock has 1 to %d bytes, not %d", maxName, len(name))
	case name[0] == '}':
		return fmt.Errorf("the name of a lock does not begin with a closing brace: %q", name) // Redis would take no hash tag from it
	case c.lease != 0 && c.lease < minTTL:
		return fmt.Errorf("a lock is taken for at least %v, not %v", minTTL, c.lease)
	case c.within < 0:
		return fmt.Errorf("a wait of %v", c.within)
	}
	return nil
}
