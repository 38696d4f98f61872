package outbox

import (
	"context"
	"sync"
	"time"
)

// minInterval is the shortest time between two waits, unless set(0) ends one. Under a stream of
// commits it limits a process to a hundred polls a second.
const minInterval = 10 * time.Millisecond

// soon, as an argument of [wakeTimer.set], ends the wait after minInterval.
const soon = time.Nanosecond

// A wakeTimer holds the next moment at which a job may be due. It does not store later moments:
// each poll finds the next one. It is safe for concurrent use, with one waiter.
type wakeTimer struct {
	mu    sync.Mutex
	at    time.Time     // zero: not set
	ended time.Time     // of the last wait
	moved chan struct{} // capacity 1: at is earlier than before
}

func newWakeTimer() *wakeTimer { return &wakeTimer{moved: make(chan struct{}, 1)} }

// set ends the wait after d, or at once if d is 0. If d is positive, the wait ends at least
// minInterval after the previous one.
func (a *wakeTimer) set(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := time.Now().Add(d)
	if earliest := a.ended.Add(minInterval); d > 0 && at.Before(earliest) {
		at = earliest
	}
	if !a.at.IsZero() && !at.Before(a.at) {
		return
	}
	a.at = at
	select {
	case a.moved <- struct{}{}:
	default:
	}
}

// wait returns at the moment that was set, after limit, or when ctx ends.
func (a *wakeTimer) wait(ctx context.Context, limit time.Duration) {
	latest := time.Now().Add(limit)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		left := a.left(latest)
		if left <= 0 {
			return
		}
		timer.Reset(left)
		select {
		case <-timer.C:
		case <-a.moved:
		case <-ctx.Done():
			return
		}
	}
}

// left returns the rest of the wait, at most until latest. At the end it clears a due moment.
func (a *wakeTimer) left(latest time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	until, now := latest, time.Now()
	if !a.at.IsZero() && a.at.Before(latest) {
		until = a.at
	}
	if until.After(now) {
		return until.Sub(now)
	}
	if !a.at.After(now) {
		a.at = time.Time{}
	}
	a.ended = now
	return 0
}
