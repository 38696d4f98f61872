package media

import (
	"context"
	"sync"
	"time"
)

// userQueue let each user decode one picture at a time: who sends many waits behind his own,
// and not before those of others. The zero value is ready. It is safe for concurrent use.
type userQueue struct {
	mu sync.Mutex
	of map[int64]*queue
}

type queue struct {
	slot chan struct{}
	n    int // who has it, and who waits
}

// enter waits for the user's turn.
func (t *userQueue) enter(ctx context.Context, user int64) (leave func(), err error) {
	own := t.join(user)
	select {
	case own.slot <- struct{}{}:
		return func() { <-own.slot; t.part(user, own) }, nil
	case <-ctx.Done():
		t.part(user, own)
		return nil, ctx.Err()
	}
}

func (t *userQueue) join(user int64) *queue {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = map[int64]*queue{}
	}
	own := t.of[user]
	if own == nil {
		own = &queue{slot: make(chan struct{}, 1)}
		t.of[user] = own
	}
	own.n++
	return own
}

func (t *userQueue) part(user int64, own *queue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own.n--; own.n == 0 {
		delete(t.of, user)
	}
}

// triesFor is how many tries there are for each picture that a user may add.
const triesFor = 2

// uploadAttempts count what users try in this process in an hour, pictures that are refused and
// those that are there already too. The zero value is ready. It is safe for concurrent use.
type uploadAttempts struct {
	mu    sync.Mutex
	begun time.Time
	by    map[int64]int
}

// take counts one more try of a user and returns 0. If the user has reached the
// limit, it returns the time until the next one.
func (t *uploadAttempts) take(user int64, now time.Time, limit int) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.by == nil || now.Sub(t.begun) >= time.Hour {
		t.by, t.begun = map[int64]int{}, now
	}
	if t.by[user] >= limit {
		return t.begun.Add(time.Hour).Sub(now)
	}
	t.by[user]++
	return 0
}
