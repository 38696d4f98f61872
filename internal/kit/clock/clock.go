// Package clock waits, about as long as one says, and keeps from saying a thing too often.
package clock

import (
	"cmp"
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// Sleep returns nil after d, or the error of ctx if that ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// Jitter is d, give or take a tenth, at random: what began together does not end
// together. A d that is not above 0 stays as it is.
func Jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return d
	}
	return d - d/10 + rand.N(d/5+1) //nolint:gosec // no secret
}

// defaultEvery is how often a failure that comes with every request is logged, unless
// its Seldom says otherwise.
const defaultEvery = 10 * time.Second

// Throttle keeps a failure that may come with every request from filling the log;
// a metric counts each. The zero value is ready. It is safe for concurrent use.
type Throttle struct {
	Every time.Duration // 0 is ten seconds
	last  atomic.Int64  // unix nanoseconds
}

// Allow reports whether the failure should be logged: the first time, and then
// not again for as long as Every.
func (s *Throttle) Allow() bool {
	now, last := time.Now().UnixNano(), s.last.Load()
	return now-last >= int64(cmp.Or(s.Every, defaultEvery)) && s.last.CompareAndSwap(last, now)
}
