package lock

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// localQueue orders the callers of this process that wait for one name. Only the first one calls
// the store, so a release causes one attempt per process.
type localQueue struct {
	turn  *semaphore.Weighted
	users int // callers in the queue, also the first; guarded by Locker.mu

	// Of the latest caller at the head.
	failed error     // error of the store
	began  time.Time // start of its turn
}

func (l *Locker) acquire(ctx context.Context, r Request) (g Grant, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.life, func() { cancel(ErrClosed) })() //nolint:contextcheck // either may end the wait
	q := l.join(r.Name)
	defer l.leave(r.Name, q)
	queued := !q.turn.TryAcquire(1)
	if queued {
		joined := time.Now()
		l.count.waited.Add(1)
		if q.turn.Acquire(ctx, 1) != nil {
			return nil, waitError(ctx, r.Name)
		}
		// The store failed while this caller waited in the queue: its own attempt would
		// only time out again.
		if q.failed != nil && joined.Before(q.began) {
			defer q.turn.Release(1)
			return nil, q.failed
		}
	}
	defer q.turn.Release(1)
	q.began = time.Now()
	g, q.failed = l.attempt(ctx, r, queued)
	if err = q.failed; ctx.Err() != nil {
		q.failed = nil // the caller's context ended
	}
	return g, err
}

// attempt tries at once, and waits if the lock is busy.
func (l *Locker) attempt(ctx context.Context, r Request, waited bool) (Grant, error) {
	g, err := l.try(ctx, r)
	if _, busy := errors.AsType[*BusyError](err); !busy {
		return g, err
	}
	if !waited {
		l.count.waited.Add(1)
	}
	g, err = l.await(ctx, r, l.store.Acquire)
	if ctx.Err() != nil && err != nil {
		err = waitError(ctx, r.Name)
	}
	return g, err
}

func (l *Locker) try(ctx context.Context, r Request) (Grant, error) {
	g, err := l.await(ctx, r, l.store.Try)
	if errors.Is(err, errWaited) { // the store did not answer: there may be no other holder
		err = ErrNoAnswer
	}
	return g, err
}

// await calls the store in the background and returns when ctx ends. It releases a late grant.
func (l *Locker) await(ctx context.Context, r Request, take func(context.Context, Request) (Grant, error)) (Grant, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.life, func() { cancel(ErrClosed) })() //nolint:contextcheck // either may end it
	type outcome struct {
		g   Grant
		err error
	}
	answered := make(chan outcome) // unbuffered: either the caller gets the Grant, or it is released
	begun := l.work.run(func() {
		g, err := take(ctx, r)
		select {
		case answered <- outcome{g, err}:
		case <-ctx.Done():
			if err == nil {
				_ = g.Release(context.WithoutCancel(ctx))
			}
		}
	})
	if !begun {
		return nil, ErrClosed
	}
	select {
	case o := <-answered:
		if ctx.Err() != nil && o.err == nil {
			l.work.run(func() { _ = o.g.Release(context.WithoutCancel(ctx)) })
			return nil, context.Cause(ctx)
		}
		return o.g, o.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func waitError(ctx context.Context, name string) error {
	if cause := context.Cause(ctx); !errors.Is(cause, errWaited) {
		return cause
	}
	return &BusyError{name}
}

func (l *Locker) join(name string) *localQueue {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queues[name]
	if q == nil {
		q = &localQueue{turn: semaphore.NewWeighted(1)}
		l.queues[name] = q
	}
	q.users++
	return q
}

func (l *Locker) leave(name string, q *localQueue) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if q.users--; q.users == 0 {
		delete(l.queues, name)
	}
}

// background counts goroutines, so that close can wait for them. After close, only running ones
// may start others. The zero value is ready.
type background struct {
	mu      sync.Mutex
	closed  bool
	running int
	group   sync.WaitGroup
}

// begin counts one more goroutine. It reports false after close unless another one runs.
func (b *background) begin() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed && b.running == 0 {
		return false
	}
	b.running++
	b.group.Add(1)
	return true
}

func (b *background) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running--
	b.group.Done()
}

// run starts f unless begin reports false.
func (b *background) run(f func()) bool {
	ok := b.begin()
	if ok {
		go func() {
			defer b.end()
			f()
		}()
	}
	return ok
}

// close waits for all goroutines, or until ctx ends.
func (b *background) close(ctx context.Context) error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	done := make(chan struct{})
	go func() {
		b.group.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
