package lock

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/semaphore"
)

// queue is where those of this process who want one name stand: one of them at a
// time asks the store, the others behind it in the order of their calls. So a lock
// that becomes free brings on one attempt of each process and not one of each
// waiter.
type queue struct {
	turn  *semaphore.Weighted
	users int // who wait or have their turn; guarded by Locker.mu

	// Of the one whose turn it is, and of the last to leave.
	waiting waiting   // nil until somebody was refused
	failed  error     // of the store, at the newest attempt
	began   time.Time // when that one's turn did
}

// acquire waits for one's turn and then for the lock.
func (l *Locker) acquire(ctx context.Context, name string, ttl time.Duration) (grant, error) {
	q := l.join(name)
	defer l.leave(name, q)
	if !q.turn.TryAcquire(1) {
		came := time.Now()
		if err := l.turn(ctx, q); err != nil {
			return nil, err
		}
		if q.failed != nil && came.Before(q.began) {
			defer q.turn.Release(1)
			return nil, q.failed // else those who wait would be told one after the other, each after a time-out
		}
	}
	defer q.turn.Release(1)
	q.began = time.Now()
	g, err := l.take(ctx, q, name, ttl)
	if q.failed = err; ctx.Err() != nil {
		q.failed = nil // it was the caller's time that was over
	}
	return g, err
}

// turn waits for one's turn.
func (l *Locker) turn(ctx context.Context, q *queue) error {
	ctx, cancel := l.untilClosed(ctx)
	defer cancel()
	if q.turn.Acquire(ctx, 1) != nil {
		return context.Cause(ctx)
	}
	return nil
}

// take tries, and waits if somebody else holds the lock. As long as nobody was
// refused there is nothing to know of a wait.
func (l *Locker) take(ctx context.Context, q *queue, name string, ttl time.Duration) (grant, error) {
	var refusal *Busy
	if q.waiting == nil {
		g, err := l.store.try(ctx, name, ttl)
		busy := false
		if refusal, busy = errors.AsType[*Busy](err); !busy {
			return g, err
		}
		q.waiting = l.store.wait(name)
	}
	ctx, cancel := l.untilClosed(ctx)
	defer cancel()
	return q.waiting.take(ctx, ttl, refusal)
}

// untilClosed is ctx, which ends with the Locker too.
func (l *Locker) untilClosed(ctx context.Context) (closing context.Context, cancel func()) {
	ctx, end := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.life, func() { end(ErrClosed) })
	return ctx, func() {
		stop()
		end(nil)
	}
}

func (l *Locker) join(name string) *queue {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queues[name]
	if q == nil {
		q = &queue{turn: semaphore.NewWeighted(1)}
		l.queues[name] = q
	}
	q.users++
	return q
}

func (l *Locker) leave(name string, q *queue) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if q.users--; q.users > 0 {
		return
	}
	delete(l.queues, name)
	if q.waiting != nil {
		q.waiting.close()
	}
}
