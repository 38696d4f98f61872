package outbox

import (
	"context"
	"sync"
	"time"
)

// grid is the least time between two waits that end, unless set says at once. Under a
// stream of commits it limits a relay to a hundred looks a second.
const grid = 10 * time.Millisecond

// soon is for [wakeTimer.set]: after the least time.
const soon = time.Nanosecond

// An wakeTimer holds the next moment at which there may be something to do. Later moments
// are not kept: each look at the database finds the next one. It is safe for concurrent
// use, with one waiter.
type wakeTimer struct {
	mu    sync.Mutex
	at    time.Time     // zero: not set
	ended time.Time     // of the last wait
	moved chan struct{} // room for one: at is earlier than before
}

func newAlarm() *wakeTimer { return &wakeTimer{moved: make(chan struct{}, 1)} }

// set ends the wait after d, or at once if d is 0. If d is positive, at least a grid
// passes since the last wait has ended.
func (a *wakeTimer) set(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := time.Now().Add(d)
	if least := a.ended.Add(grid); d > 0 && at.Before(least) {
		at = least
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

// wait returns at the moment that was set, after most, or when ctx ends. It clears the
// alarm.
func (a *wakeTimer) wait(ctx context.Context, most time.Duration) {
	latest := time.Now().Add(most)
	timer := time.NewTimer(most)
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

// left returns how long the wait goes on, at most until latest. If the wait ends, it
// clears the alarm.
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
