package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Lease is a lock that is held, until it is released. Its methods may be called
// by several goroutines.
type Lease struct {
	hold   *hold
	ctx    context.Context //nolint:containedctx // it is what a lease is for
	cancel context.CancelCauseFunc

	mu       sync.Mutex
	released bool // this lease, and not yet others of the same lock
	result   error
}

// Context is for the work that the lock is for. It is a child of the context
// that this lease was taken with, and ends before the lock does: when the lease
// was released, or the lock lost or held for too long. [context.Cause] says which.
// That of the first lease lasts as long as any that was taken within it.
//
// No context stops a process that is being stopped itself, by its machine or by
// its garbage collector: what must not be written by a holder of the past needs
// [Register].
func (h *Lease) Context() context.Context { return h.ctx }

// Name is what is locked.
func (h *Lease) Name() string { return h.hold.name }

// Token is the fencing token: greater than those of all earlier holders of the
// name in the same store. See [Register].
func (h *Lease) Token() int64 { return h.hold.grant.token() }

// Until is when the lock ends unless it is renewed: by the monotonic clock of
// this process, a little before the store's.
func (h *Lease) Until() time.Time {
	h.hold.mu.Lock()
	defer h.hold.mu.Unlock()
	return h.hold.until
}

// Release gives the lock up, or the last of its leases does. It waits for the
// store for as long as one call may take, also when ctx has ended. The error is
// [ErrLost] or [ErrMaxHold] if the lock ended before; with another error it could
// not be given up now, is tried again in the background, and ends by itself.
// Released again it says the same again, or tries again.
func (h *Lease) Release(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.released {
		h.released = true
		last, ended := h.hold.drop()
		h.cancel(cmp.Or(ended, ErrReleased))
		if !last {
			h.result = ended
			return ended
		}
		h.result = errUnreleased
	}
	if errors.Is(h.result, errUnreleased) {
		h.result = h.hold.release(context.WithoutCancel(ctx))
	}
	return h.result
}

// errUnreleased marks a result that another call may better.
var errUnreleased = errors.New("release the lock")

// hold is a lock that is held, by one lease or several.
type hold struct {
	l     *Locker
	name  string
	grant grant
	ttl   time.Duration
	given bool // for a time: not renewed

	ctx    context.Context //nolint:containedctx // of the first lease, and until the last is released
	cancel context.CancelCauseFunc

	alarm alarm // when it is attended to

	mu     sync.Mutex
	leases int
	until  time.Time // how long it is valid
	renew  time.Time // when that is to be prolonged
	limit  time.Time // when it has been held for too long
	asking bool      // it is being prolonged
	ended  error     // why it is not held any more
	lapsed bool      // or given up: nothing is left to do
}

// held returns another lease of a lock that ctx holds, nil if it holds none.
func (l *Locker) held(ctx context.Context, name string) *Lease {
	h, _ := ctx.Value(heldKey{l, name}).(*hold)
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended != nil || h.leases == 0 {
		return nil
	}
	h.leases++
	inner, cancel := context.WithCancelCause(ctx)
	// It ends with the lock too if ctx was made not to.
	stop := context.AfterFunc(h.ctx, func() { cancel(context.Cause(h.ctx)) }) //nolint:contextcheck // either may end it
	return &Lease{hold: h, ctx: inner, cancel: func(why error) {
		stop()
		cancel(why)
	}}
}

// heldKey is where a context has its hold of a name.
type heldKey struct {
	l    *Locker
	name string
}

// hold begins to look after a lock.
func (l *Locker) hold(ctx context.Context, name string, g grant, c call) *Lease {
	now, ttl := time.Now(), c.ttl(l.o)
	h := &hold{
		l: l, name: name, grant: g, ttl: ttl, given: c.lease != 0, leases: 1,
		until: g.until(), renew: now.Add(ttl / 3), limit: now.Add(l.o.MaxHold),
	}
	h.alarm = newAlarm(h.attend)
	h.ctx, h.cancel = context.WithCancelCause(context.WithValue(ctx, heldKey{l, name}, h))
	h.mu.Lock()
	defer h.mu.Unlock()
	l.watch.set(&h.alarm, h.next())
	return &Lease{hold: h, ctx: h.ctx, cancel: func(error) {}}
}

// last is when the work is told to stop, whatever the store does. The caller
// holds mu, here and in next.
func (h *hold) last() time.Time { return h.until.Add(-guard(h.ttl)) }

// next is when something is to be done.
func (h *hold) next() time.Time {
	at := h.last()
	switch {
	case h.ended != nil:
		return h.until
	case h.given:
		return at
	case h.limit.Before(at):
		at = h.limit
	}
	if !h.asking && h.renew.Before(at) {
		at = h.renew
	}
	return at
}

// attend does what is due, and returns what may take its time.
func (h *hold) attend() (later func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lapsed {
		return nil
	}
	now := time.Now()
	switch {
	case h.ended != nil && now.Before(h.until):
	case h.ended != nil:
		h.lapsed = true
		return h.grant.lapse
	case h.given && !now.Before(h.last()), !h.given && !now.Before(h.limit):
		later = h.over(ErrMaxHold)
	case !now.Before(h.last()):
		later = h.over(ErrLost)
	case !h.given && !h.asking && !now.Before(h.renew):
		h.asking = h.l.tasks.run(h.extend)
		h.renew = now.Add(h.ttl / 12) // should the Locker be closed
	}
	h.l.watch.set(&h.alarm, h.next())
	return later
}

// over has the work stop, and returns what tells of it. It leaves the lock in the
// store: the work may take a moment, for which the guard, or the rest of the
// validity, is. The caller holds mu.
func (h *hold) over(why error) (tell func()) {
	h.ended = why
	h.cancel(why)
	count := &h.l.count.lost
	if errors.Is(why, ErrMaxHold) {
		count = &h.l.count.maxHold
	}
	count.Add(1)
	return func() {
		h.l.o.Log.WarnContext(h.ctx, "a lock ended before it was released", "lock", h.name, "why", why)
	}
}

// extend renews the lock. What the store does not answer is asked again soon, for
// as long as the lock is valid.
func (h *hold) extend() {
	h.mu.Lock()
	last := h.last()
	h.mu.Unlock()
	ctx, cancel := context.WithDeadline(context.WithoutCancel(h.ctx), last)
	defer cancel()
	until, err := h.grant.extend(ctx)
	if tell := h.extended(until, err); tell != nil {
		tell()
	}
}

// extended takes the outcome of a renewal.
func (h *hold) extended(until time.Time, err error) (tell func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asking = false
	now := time.Now()
	switch {
	case h.ended != nil:
		return nil
	case errors.Is(err, errGone):
		tell = h.over(ErrLost)
	case err != nil:
		h.renew = now.Add(h.ttl / 12)
	default:
		h.until, h.renew = until, now.Add(h.ttl/3)
	}
	h.l.watch.set(&h.alarm, h.next())
	return tell
}

// drop counts one lease out and says whether it was the last. If not, it says why
// the lock has ended, if it has.
func (h *hold) drop() (last bool, ended error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leases--
	return h.leases == 0, h.ended
}

// release gives the lock up. The work's context ends first.
func (h *hold) release(ctx context.Context) error {
	h.mu.Lock()
	first := h.ended == nil
	h.ended = cmp.Or(h.ended, ErrReleased)
	ended, valid := h.ended, time.Now().Before(h.until)
	h.lapsed = true
	h.l.watch.drop(&h.alarm)
	h.mu.Unlock()
	h.cancel(ended)
	err := h.grant.release(ctx)
	switch {
	case !errors.Is(ended, ErrReleased):
		return ended // what is left of it was removed, or ends by itself
	case err == nil:
		return nil
	case !errors.Is(err, errGone):
		return fmt.Errorf("%w %q: %w", errUnreleased, h.name, err)
	case !first && valid:
		return nil // by the call before, whose answer did not come
	}
	h.l.count.lost.Add(1)
	return ErrLost
}
