package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Lease is one hold of a lock. It is safe for concurrent use.
type Lease struct {
	hold   *heldLock
	ctx    context.Context //nolint:containedctx // the purpose of a lease
	cancel context.CancelCauseFunc

	mu       sync.Mutex
	released bool // this lease; others of the lock may still be held
	result   error
}

// Context returns the context for the work under the lock, a child of the caller's. It ends
// before the lock does. [context.Cause] returns [ErrReleased], [ErrLost] or [ErrMaxHold]. The
// context of the outermost lease lasts as long as any nested one.
func (h *Lease) Context() context.Context { return h.ctx }

// Name returns the locked name.
func (h *Lease) Name() string { return h.hold.name }

// Until returns the expiry of the lock without another renewal, on the monotonic clock.
func (h *Lease) Until() time.Time {
	h.hold.mu.Lock()
	defer h.hold.mu.Unlock()
	return h.hold.until
}

// Release ends the lease, and releases the lock with its last lease, even if ctx has ended. It
// returns [ErrLost] or [ErrMaxHold] if the lock ended before. After another error the lock is
// released in the background, or expires; a second call retries.
func (h *Lease) Release(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.released {
		h.released = true
		h.hold.mu.Lock()
		h.hold.leases--
		last, ended := h.hold.leases == 0, h.hold.ended
		h.hold.mu.Unlock()
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

// errUnreleased marks a failed release, which a second call retries.
var errUnreleased = errors.New("release lock")

// heldLock is a held lock with one or more leases.
type heldLock struct {
	l     *Locker
	name  string
	grant Grant
	ttl   time.Duration
	fixed bool // not renewed

	ctx    context.Context //nolint:containedctx // of the outermost lease
	cancel context.CancelCauseFunc

	mu     sync.Mutex
	leases int
	until  time.Time   // expiry
	limit  time.Time   // end of MaxHold; zero for none
	ended  error       // why it ended
	over   *time.Timer // ends the work, and then the lock
	renew  *time.Timer
}

// heldKey is the context key of the hold of a name.
type heldKey struct {
	l    *Locker
	name string
}

// held returns another lease of a lock that ctx holds, or nil.
func (l *Locker) held(ctx context.Context, name string) *Lease {
	h, _ := ctx.Value(heldKey{l, name}).(*heldLock)
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
	// ctx may be detached from the lock's context.
	stop := context.AfterFunc(h.ctx, func() { cancel(context.Cause(h.ctx)) }) //nolint:contextcheck // either may end it
	return &Lease{hold: h, ctx: inner, cancel: func(why error) {
		stop()
		cancel(why)
	}}
}

// hold starts the timers of a lock.
func (l *Locker) hold(ctx context.Context, name string, g Grant, c call) *Lease {
	h := &heldLock{l: l, name: name, grant: g, ttl: cmp.Or(c.ttl, l.o.TTL), fixed: c.ttl != 0, leases: 1, until: g.Until()}
	if !h.fixed && l.o.MaxHold > 0 {
		h.limit = time.Now().Add(l.o.MaxHold)
	}
	h.ctx, h.cancel = context.WithCancelCause(context.WithValue(ctx, heldKey{l, name}, h))
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = time.AfterFunc(time.Until(h.last()), h.expire)
	if !h.fixed {
		h.renew = time.AfterFunc(h.ttl/3, func() { l.work.run(h.extend) })
	}
	return &Lease{hold: h, ctx: h.ctx, cancel: func(error) {}}
}

// last returns when the work must stop unless the lock is renewed. The caller holds mu.
func (h *heldLock) last() time.Time {
	at := h.until.Add(-margin(h.ttl))
	if !h.limit.IsZero() && h.limit.Before(at) {
		return h.limit
	}
	return at
}

// expire ends the work when its time is over, and later expires the grant.
func (h *heldLock) expire() {
	h.mu.Lock()
	now := time.Now()
	switch {
	case errors.Is(h.ended, ErrReleased):
	case h.ended != nil:
		h.mu.Unlock()
		h.grant.Expire()
		return
	case now.Before(h.last()): // renewed at the same moment
		h.over.Reset(time.Until(h.last()))
	case h.fixed, !h.limit.IsZero() && !now.Before(h.limit):
		h.lose(ErrMaxHold)
	default:
		h.lose(ErrLost)
	}
	h.mu.Unlock()
}

// lose ends the work. The lock stays in the store until its expiry: the work may need a moment
// to stop. The caller holds mu.
func (h *heldLock) lose(why error) {
	h.ended = why
	h.cancel(why)
	count := &h.l.count.lost
	if errors.Is(why, ErrMaxHold) {
		count = &h.l.count.maxHold
	}
	count.Add(1)
	h.over.Reset(time.Until(h.until))
	h.l.o.Log.WarnContext(h.ctx, "lock ended before its release", "lock", h.name, "err", why)
}

// extend renews the lock. If the store does not answer, it retries after TTL/12.
func (h *heldLock) extend() {
	h.mu.Lock()
	last, ended := h.last(), h.ended
	h.mu.Unlock()
	if ended != nil {
		return
	}
	ctx, cancel := context.WithDeadline(context.WithoutCancel(h.ctx), last)
	defer cancel()
	until, err := h.grant.Extend(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.ended != nil:
	case errors.Is(err, ErrGone):
		h.lose(ErrLost)
	case err != nil:
		h.renew.Reset(h.ttl / 12)
	default:
		h.until = until
		h.over.Reset(time.Until(h.last()))
		h.renew.Reset(h.ttl / 3)
	}
}

// release ends the work and then releases the lock.
func (h *heldLock) release(ctx context.Context) error {
	h.mu.Lock()
	first := h.ended == nil
	h.ended = cmp.Or(h.ended, ErrReleased)
	ended, valid := h.ended, time.Now().Before(h.until)
	h.over.Stop()
	if h.renew != nil {
		h.renew.Stop()
	}
	h.mu.Unlock()
	h.cancel(ended)
	err := h.grant.Release(ctx)
	switch {
	case !errors.Is(ended, ErrReleased):
		return ended // the rest of the lock was removed, or expires
	case err == nil:
		return nil
	case !errors.Is(err, ErrGone):
		return fmt.Errorf("%w %q: %w", errUnreleased, h.name, err)
	case !first && valid:
		return nil // the previous call released it, without an answer
	}
	h.l.count.lost.Add(1)
	return ErrLost
}
