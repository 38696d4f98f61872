package media

import (
	"context"
	"sync"
	"time"
)

// userQueue lets each user decode one picture at a time, so that a user with many uploads does
// not delay others. The zero value is ready. It is safe for concurrent use.
type userQueue struct {
	mu     sync.Mutex
	byUser map[int64]*queue
}

type queue struct {
	slot chan struct{}
	n    int // holders and waiters
}

// enter waits until the user has no other upload. The caller calls leave to end its own.
func (t *userQueue) enter(ctx context.Context, user int64) (leave func(), err error) {
	own := t.join(user)
	select {
	case own.slot <- struct{}{}:
		return func() { <-own.slot; t.release(user, own) }, nil
	case <-ctx.Done():
		t.release(user, own)
		return nil, ctx.Err()
	}
}

func (t *userQueue) join(user int64) *queue {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byUser == nil {
		t.byUser = map[int64]*queue{}
	}
	own := t.byUser[user]
	if own == nil {
		own = &queue{slot: make(chan struct{}, 1)}
		t.byUser[user] = own
	}
	own.n++
	return own
}

func (t *userQueue) release(user int64, own *queue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own.n--; own.n == 0 {
		delete(t.byUser, user)
	}
}

const attemptsPerPicture = 2 // attempts per picture of the hourly limit

// uploadAttempts counts the uploads of users in this process per hour, including rejected and
// repeated ones. The zero value is ready. It is safe for concurrent use.
type uploadAttempts struct {
	mu     sync.Mutex
	since  time.Time
	counts map[int64]int
}

// take counts an attempt and returns 0, or at the limit the time until the next attempt.
func (t *uploadAttempts) take(user int64, now time.Time, limit int) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil || now.Sub(t.since) >= time.Hour {
		t.counts, t.since = map[int64]int{}, now
	}
	if t.counts[user] >= limit {
		return t.since.Add(time.Hour).Sub(now)
	}
	t.counts[user]++
	return 0
}
