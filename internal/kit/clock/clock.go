// Package clock provides sleeps that end with a context, jitter, throttled logging and split
// deadlines.
package clock

import (
	"cmp"
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// Sleep waits for d and returns nil, or returns the error of ctx if ctx ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// Jitter returns a random duration within ±10 % of d, so that simultaneous waits end at
// different times. It returns d unchanged if d is not positive.
func Jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return d
	}
	return d - d/10 + rand.N(d/5+1) //nolint:gosec // not a secret
}

// defaultEvery is the default of [Throttle.Every].
const defaultEvery = 10 * time.Second

// Throttle limits the logging of a failure that may occur with every request. The zero value
// is ready to use. It is safe for concurrent use.
type Throttle struct {
	Every time.Duration // minimum interval; default 10 seconds
	last  atomic.Int64  // unix nanoseconds
}

// Allow reports whether the failure must be logged: the first time, and then at most once in
// each interval of Every.
func (s *Throttle) Allow() bool {
	now, last := time.Now().UnixNano(), s.last.Load()
	return now-last >= int64(cmp.Or(s.Every, defaultEvery)) && s.last.CompareAndSwap(last, now)
}
