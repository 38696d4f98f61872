package outbox

import (
	"context"
	"slices"
	"sync"
	"time"
)

// grid is how near to each other two moments are one: under a stream of commits
// it bounds how often a relay looks, to a hundred times a second.
const grid = 10 * time.Millisecond

// An alarm holds the moments at which there may be something to do. Each is kept:
// if only the earliest were, a job added during the head start of another would
// wait for the poll. It is safe for concurrent use, with one waiter.
type alarm struct {
	mu    sync.Mutex
	begin time.Time
	at    []time.Duration // since begin, on the grid, sorted
	moved chan struct{}   // room for one: there is a new earliest
}

func newAlarm() *alarm { return &alarm{begin: time.Now(), moved: make(chan struct{}, 1)} }

// set has the waiter return after d, or up to a grid later; at once for 0.
func (a *alarm) set(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := time.Since(a.begin)
	// Of those that have come, one is enough: where nobody waits, they must not grow in number.
	if passed, _ := slices.BinarySearch(a.at, at+1); passed > 1 {
		a.at = slices.Delete(a.at, 1, passed)
	}
	if d > 0 {
		at = (at + d + grid - 1).Truncate(grid)
	}
	i, found := slices.BinarySearch(a.at, at)
	if found {
		return
	}
	a.at = slices.Insert(a.at, i, at)
	if i == 0 {
		select {
		case a.moved <- struct{}{}:
		default:
		}
	}
}

// wait returns at the earliest moment, after most, or when ctx ends.
func (a *alarm) wait(ctx context.Context, most time.Duration) {
	until := time.Since(a.begin) + most
	for {
		now := time.Since(a.begin)
		next := a.next(now, until)
		if next <= now {
			return
		}
		timer := time.NewTimer(next - now)
		select {
		case <-timer.C:
		case <-a.moved:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// next is the earliest moment, at most until. Those that have come are forgotten.
func (a *alarm) next(now, until time.Duration) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.at) > 0 {
		until = min(until, a.at[0])
	}
	passed, _ := slices.BinarySearch(a.at, now+1)
	a.at = slices.Delete(a.at, 0, passed)
	return until
}
