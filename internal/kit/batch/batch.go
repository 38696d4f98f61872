// Package batch groups concurrent calls into shared operations, such as transactions.
//
// Calls that arrive while a group runs form the next one. So groups grow with the load, and an
// idle batcher starts a group of one at once: no call waits for a timer. Databases commit their
// logs this way: D. DeWitt et al., Implementation Techniques for Main Memory Database Systems,
// SIGMOD 1984, section 5.2 (group commit).
package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// ErrBusy is the default error of a [Batcher] whose queue is full.
var ErrBusy = errors.New("too many calls are waiting")

// Config tunes a [Batcher]. The zero value is a good production setting.
type Config struct {
	Max        int           // calls per group; default 500
	MaxWaiting int           // queued calls; default 2000
	Timeout    time.Duration // of one group and its after function; default 5 s, negative for none
	Busy       error         // returned when MaxWaiting calls wait; default [ErrBusy]

	// Groups is the maximum number of parallel groups; default 1. Another group starts when
	// Backlog calls wait, or when the first of them has waited for Patience. The batcher checks
	// this when a call arrives and when a group ends.
	Groups   int
	Backlog  int           // default Max
	Patience time.Duration // default: unlimited

	// Leave lets Join return as soon as its context ends, even while the group runs.
	Leave bool
	// RunCanceled also runs calls whose contexts have ended.
	RunCanceled bool
	// Withdrawn returns the error of a call that never runs because its context ended. It gets
	// the error of the context, which is the default.
	Withdrawn func(error) error

	// Retryable reports whether a failed group may succeed when it runs again, after a deadlock
	// for example. Such a group runs a second time. Default: never.
	Retryable func(error) bool

	// Shared reports whether an error concerns all calls of a group, for example because the
	// database is unavailable. After any other error the group is split: its halves run one
	// after the other, down to the calls that fail alone. Default: never.
	Shared func(error) bool
}

// Call is one caller's part of a group.
type Call[In, Out any] struct {
	In  In
	Out Out   // set by Run
	Err error // set by Run if only this call fails

	ctx   context.Context       // of the caller
	since time.Time             // zero without Config.Patience
	done  chan []*Call[In, Out] // gets the group that the caller runs itself; closed when Out and Err are final
}

// Run executes a group. Its calls are in order of arrival. ctx has the values of the first
// caller's context, and ends after Config.Timeout. With Config.Groups, runs overlap.
//
// Run sets Out or Err of each call. If Run returns an error, it must have changed nothing. It
// may run again with the same calls or some of them. after may be nil. It finishes the work
// after the commit, in parallel with the following group, before the callers return.
type Run[In, Out any] func(ctx context.Context, calls []*Call[In, Out]) (after func(), err error)

// A Batcher collects calls into groups. It is safe for concurrent use.
type Batcher[In, Out any] struct {
	run Run[In, Out]
	cfg Config

	mu      sync.Mutex
	waiting []*Call[In, Out]
	running int       // groups in Run
	serving int       // groups whose callers have not returned
	ended   sync.Cond // signals a smaller serving
}

// New returns a Batcher. It starts no goroutine before the first call.
func New[In, Out any](run Run[In, Out], cfg Config) *Batcher[In, Out] {
	cfg.Max = cmp.Or(cfg.Max, 500)
	cfg.MaxWaiting = cmp.Or(cfg.MaxWaiting, 2000)
	cfg.Timeout = cmp.Or(cfg.Timeout, 5*time.Second)
	cfg.Busy = cmp.Or(cfg.Busy, ErrBusy)
	cfg.Groups = cmp.Or(cfg.Groups, 1)
	cfg.Backlog = cmp.Or(cfg.Backlog, cfg.Max)
	if cfg.Withdrawn == nil {
		cfg.Withdrawn = func(err error) error { return err }
	}
	never := func(error) bool { return false }
	if cfg.Retryable == nil {
		cfg.Retryable = never
	}
	if cfg.Shared == nil {
		cfg.Shared = never
	}
	b := &Batcher[In, Out]{run: run, cfg: cfg}
	b.ended.L = &b.mu
	return b
}

// Join adds a call to the next group and returns its result.
//
// If ctx ends before the group starts, the call leaves the queue and changes nothing. If ctx is
// cancelled later, Join still waits for the result of the group, so the caller learns the
// outcome. At the deadline of ctx it returns an error, and the outcome is unknown. Config.Leave
// and Config.RunCanceled change this.
//
// A call whose context cannot end may run its group on its own goroutine.
func (b *Batcher[In, Out]) Join(ctx context.Context, in In) (Out, error) {
	var none Out
	if err := ctx.Err(); err != nil && !b.cfg.RunCanceled {
		return none, b.cfg.Withdrawn(err)
	}
	c := &Call[In, Out]{In: in, ctx: ctx, done: make(chan []*Call[In, Out], 1)}
	if b.cfg.Patience > 0 {
		c.since = time.Now()
	}
	b.mu.Lock()
	if len(b.waiting) >= b.cfg.MaxWaiting {
		b.mu.Unlock()
		return none, b.cfg.Busy
	}
	b.waiting = append(b.waiting, c)
	b.start()
	b.mu.Unlock()
	select {
	case group := <-c.done:
		if group != nil {
			b.serve(group)
		}
		return c.Out, c.Err
	case <-ctx.Done():
	}
	if !b.cfg.RunCanceled && b.withdraw(c) {
		return none, b.cfg.Withdrawn(ctx.Err())
	}
	if b.cfg.Leave {
		return none, ctx.Err()
	}
	if deadline, ok := ctx.Deadline(); ok {
		timer := time.NewTimer(time.Until(deadline))
		defer timer.Stop()
		select {
		case <-c.done:
		case <-timer.C:
			return none, context.DeadlineExceeded
		}
	}
	<-c.done
	return c.Out, c.Err
}

// Waiting returns the number of queued calls and of running groups.
func (b *Batcher[In, Out]) Waiting() (calls, groups int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting), b.running
}

// Wait returns when no call waits, and no group or after function runs.
func (b *Batcher[In, Out]) Wait() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.serving > 0 {
		b.ended.Wait()
	}
}

// withdraw removes a call from the queue. It reports false if the call's group has started.
func (b *Batcher[In, Out]) withdraw(c *Call[In, Out]) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.waiting, c)
	if i < 0 {
		return false
	}
	b.waiting = slices.Delete(slices.Clone(b.waiting), i, i+1) // a group may share the old array
	return true
}

// start starts the next group if it may start now. The caller holds mu.
func (b *Batcher[In, Out]) start() {
	n := len(b.waiting)
	if n == 0 || b.running >= b.cfg.Groups {
		return
	}
	if b.running > 0 && n < b.cfg.Backlog && (b.cfg.Patience <= 0 || time.Since(b.waiting[0].since) < b.cfg.Patience) {
		return
	}
	n = min(n, b.cfg.Max)
	group := b.waiting[:n:n]
	b.waiting = b.waiting[n:]
	if len(b.waiting) == 0 {
		b.waiting = nil
	}
	b.running++
	b.serving++
	if first := group[0]; first.ctx.Done() == nil {
		first.done <- group
	} else {
		go b.serve(group)
	}
}

// serve runs one group from its start to the return of its callers.
func (b *Batcher[In, Out]) serve(group []*Call[In, Out]) {
	ctx := context.WithoutCancel(group[0].ctx)
	if b.cfg.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, b.cfg.Timeout)
		defer cancel()
	}
	after := b.complete(ctx, group)
	b.mu.Lock()
	b.running--
	b.start()
	b.mu.Unlock()
	for _, f := range after {
		if err := guard(func() error { f(); return nil }); err != nil {
			for _, c := range group {
				c.Err = cmp.Or(c.Err, err)
			}
		}
	}
	for _, c := range group {
		close(c.done)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.serving--
	b.ended.Broadcast()
}

// complete sets the result of each call of a group. It returns the after functions.
func (b *Batcher[In, Out]) complete(ctx context.Context, group []*Call[In, Out]) (after []func()) {
	f, err := b.try(ctx, group)
	if err != nil && b.cfg.Retryable(err) && ctx.Err() == nil {
		f, err = b.try(ctx, group)
	}
	switch {
	case err == nil && f != nil:
		return []func(){f}
	case err == nil:
		return nil
	case len(group) == 1 || b.cfg.Shared(err) || ctx.Err() != nil:
		for _, c := range group {
			c.fail(err)
		}
		return nil
	}
	half := len(group) / 2
	return append(b.complete(ctx, group[:half]), b.complete(ctx, group[half:])...)
}

func (b *Batcher[In, Out]) try(ctx context.Context, group []*Call[In, Out]) (after func(), err error) {
	for _, c := range group {
		c.fail(nil)
	}
	err = guard(func() (err error) {
		after, err = b.run(ctx, group)
		return err
	})
	return after, err
}

// fail clears the result of a call and sets its error.
func (c *Call[In, Out]) fail(err error) {
	var none Out
	c.Out, c.Err = none, err
}

// guard returns a panic of f as an error: on a goroutine of the group it would end the process.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in a group: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}
